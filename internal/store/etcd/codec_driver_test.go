package etcd

import (
	"context"
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// live is a real etcd that runs in this process, and etcd's official client.
type live struct {
	endpoint string
	client   *clientv3.Client
}

// patience is the time limit for a wait in a test that does not measure how long the wait takes.
// The limit ends a test that hangs, but is long enough for a slow machine.
const patience = 2 * time.Minute

// longTimeout returns a context that expires only if a test hangs. Without it, the official client
// would try forever to reach an endpoint that does not respond.
func longTimeout(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// startLive starts one member. If files is not nil, the member uses TLS. If mutual is set, it
// also requires a client certificate.
func startLive(t testing.TB, files *testCerts, mutual bool) *live {
	t.Helper()
	scheme := "http"
	cfg := embed.NewConfig()
	if files != nil {
		scheme = "https"
		cfg.ClientTLSInfo = transport.TLSInfo{
			CertFile: files.serverCert, KeyFile: files.serverKey,
			TrustedCAFile: files.ca, ClientCertAuth: mutual,
		}
	}
	free := func(scheme string) []url.URL { return []url.URL{{Scheme: scheme, Host: "127.0.0.1:0"}} }
	cfg.Dir = t.TempDir()
	cfg.ListenClientUrls, cfg.ListenPeerUrls = free(scheme), free("http")
	cfg.AdvertiseClientUrls, cfg.AdvertisePeerUrls = cfg.ListenClientUrls, cfg.ListenPeerUrls
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.UnsafeNoFsync = true
	cfg.BcryptCost = 4 // bcrypt's minimum, so that tests are fast
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(patience):
		t.Fatalf("etcd is not ready after %v", patience)
	}
	l := &live{endpoint: e.Clients[0].Addr().String()}
	l.client = l.official(t, files, "", "")
	return l
}

// official returns the official client, connected to the member.
func (l *live) official(t testing.TB, files *testCerts, user, password string) *clientv3.Client {
	t.Helper()
	a := store.Access{Endpoints: []string{l.endpoint}, User: user, Password: password}
	if files != nil {
		a.TLS = files.client(t)
	}
	return official.Etcd(t, a)
}

// wire is a network connection between a codec and a server.
type wire struct {
	*storetest.Wire
	t testing.TB
}

func dialWire(t testing.TB, a store.Access, codecs store.Codecs) *wire {
	t.Helper()
	return &wire{storetest.DialWith(t, a, codecs, nil), t}
}

// want executes an operation and checks that the operation ends with the given outcome. The event
// must contain a member and a term, unless the outcome is an error.
func (w *wire) want(o kv.Outcome, op store.Op) store.Event {
	w.t.Helper()
	e := w.Want(o, op)
	if !o.Failed() && (e.Member == 0 || e.Term == 0) {
		w.t.Fatalf("%v: the member or the term is missing in %+v", op.Kind, e)
	}
	return e
}
