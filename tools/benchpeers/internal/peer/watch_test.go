package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// startEtcd starts a real member in this process.
func startEtcd(t *testing.T) (endpoint string) {
	t.Helper()
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	var urls []url.URL
	for _, port := range lease.Ports {
		urls = append(urls, url.URL{Scheme: "http", Host: net.JoinHostPort(lease.Address, strconv.Itoa(port))})
	}
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = urls[:1], urls[:1]
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = urls[1:], urls[1:]
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.UnsafeNoFsync = true
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(2 * time.Minute):
		t.Fatal("etcd is not ready after two minutes")
	}
	return urls[0].Host
}

// Both clients get one event for each watcher and measured put, and no more.
func TestWatching(t *testing.T) {
	w := Work{
		Case:     Case{Kind: kv.Watch, Connections: 1, Clients: 300, Streams: 7, Rate: 50},
		Endpoint: startEtcd(t), Warmup: 100 * time.Millisecond, Window: 400 * time.Millisecond,
	}
	for _, command := range []string{clientV3WatchCommand, ourWatchCommand} {
		t.Run(command, func(t *testing.T) {
			var out bytes.Buffer
			if ok, err := LoopMain(t.Context(), w.watchArguments(command), &out); !ok || err != nil {
				t.Fatal(ok, err)
			}
			var f Figures
			if err := json.Unmarshal(out.Bytes(), &f); err != nil {
				t.Fatal(err)
			}
			if f.Operations != 20*300 || f.PerSecond <= 0 || f.CPUPerOp <= 0 || f.MaxRSS <= 0 {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// The figures are of the measured puts, and only if all their events came.
func TestWatchFigures(t *testing.T) {
	begin := moment{time.Unix(100, 0), probe.SelfUsage{UserNS: 5_000_000}}
	end := moment{time.Unix(102, 0), probe.SelfUsage{UserNS: 8_000_000, SystemNS: 1_000_000, MaxRSS: 7}}
	w := watched{watchers: 1000, puts: 4}
	f, err := watchSeen{4, 4000, begin, end}.figures(w)
	if err != nil || f.Operations != 4000 || f.PerSecond != 2000 || f.CPUPerOp != 1000 || f.MaxRSS != 7 {
		t.Errorf("got %+v, %v", f, err)
	}
	for _, c := range []struct {
		seen watchSeen
		want string
	}{
		{watchSeen{4, 3999, begin, end}, "got 3999 events of 4 puts, and not 4000"},
		{watchSeen{4, 4001, begin, end}, "got 4001 events"},
		{watchSeen{3, 3000, begin, end}, "3 puts of 4"},
	} {
		if _, err := c.seen.figures(w); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// Both are told the same work.
func TestWatchArguments(t *testing.T) {
	w := Work{Case: Case{Clients: 10_000, Streams: 100, Rate: 3}, Endpoint: "127.0.0.1:2379", Warmup: time.Second, Window: 3 * time.Second}
	a, b := w.watchArguments(ourWatchCommand), w.watchArguments(clientV3WatchCommand)
	want := "--endpoint 127.0.0.1:2379 --watchers 10000 --streams 100 --warmup-puts 3 --puts 9 --rate 3 --val-size 32"
	if got := strings.Join(a[1:], " "); got != want || strings.Join(b[1:], " ") != want {
		t.Errorf("got %q and %q", a, b)
	}
}

func TestWatchMainRefusesNonsense(t *testing.T) {
	never := func(context.Context, watched) (watchSeen, error) {
		t.Error("it watches")
		return watchSeen{}, nil
	}
	for _, args := range []string{"--streams 0", "--streams 5 --watchers 4", "--puts 0", "--warmup-puts 0", "--rate 0", "--rate NaN"} {
		if err := watchMain(t.Context(), never, append([]string{ourWatchCommand}, strings.Fields(args)...), nil); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
