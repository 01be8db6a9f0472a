// Package embedded runs a real etcd in the test's own process.
package embedded

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// waitLimit limits the wait until a member is ready, even on a slow machine.
const waitLimit = 2 * time.Minute

// Etcd starts a one-member cluster that runs until the end of the test, and returns its endpoint.
func Etcd(t testing.TB) string {
	t.Helper()
	m := New(t)
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	return m.Endpoint()
}

// Member is an etcd that can be stopped and started again.
type Member struct {
	cfg    *embed.Config
	server *embed.Etcd
}

// New returns a member that has not been started.
func New(t testing.TB) *Member {
	t.Helper()
	cfg := embed.NewConfig()
	urls := freeURLs(t, 2)
	cfg.Dir = t.TempDir()
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = urls[:1], urls[:1]
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = urls[1:], urls[1:]
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.UnsafeNoFsync = true
	return &Member{cfg: cfg}
}

// NewTraced returns a member that sends traces to the collector at the given address. When the
// member stops, it sends its last traces.
func NewTraced(t testing.TB, collector string) *Member {
	t.Helper()
	m := New(t)
	m.cfg.EnableDistributedTracing, m.cfg.DistributedTracingAddress = true, collector
	m.cfg.DistributedTracingSamplingRatePerMillion = 1_000_000
	return m
}

// freeURLs returns URLs with addresses that are reserved until the end of the test, even while
// nothing listens there.
func freeURLs(t testing.TB, n int) (out []url.URL) {
	t.Helper()
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	for _, port := range lease.Ports {
		out = append(out, url.URL{Scheme: "http", Host: net.JoinHostPort(lease.Address, strconv.Itoa(port))})
	}
	return out
}

// Endpoint returns the endpoint for clients.
func (m *Member) Endpoint() string { return m.cfg.ListenClientUrls[0].Host }

// Start starts the member and waits until it serves.
func (m *Member) Start() error {
	e, err := embed.StartEtcd(m.cfg)
	if err != nil {
		return err
	}
	select {
	case <-e.Server.ReadyNotify():
		m.server = e
		return nil
	case <-time.After(waitLimit):
		e.Close()
		return fmt.Errorf("etcd is not ready after %v", waitLimit)
	}
}

// Stop stops the member.
func (m *Member) Stop() { m.server.Close() }
