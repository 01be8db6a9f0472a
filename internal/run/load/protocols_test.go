package load_test

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/store/storetest"
)

// eachProtocol runs a test against the null server of every store that has one.
func eachProtocol(t *testing.T, o store.NullOptions, test func(t *testing.T, plan func(scenario.Load) load.Plan)) {
	t.Helper()
	for _, s := range registry.All() {
		served, ok := s.(store.NullServed)
		if !ok {
			continue
		}
		t.Run(s.Name(), func(t *testing.T) {
			server, err := served.NullServer(o)
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- server.Serve(ctx, []net.Listener{l}) }()
			t.Cleanup(func() {
				cancel()
				storetest.Ended(t, "the null server", ended)
			})
			endpoint := l.Addr().String()
			test(t, func(l scenario.Load) load.Plan {
				return load.Plan{Load: l, Store: s, Access: store.Access{Endpoints: []string{endpoint}, DialTimeout: patience}, Endpoints: []string{endpoint}}
			})
		})
	}
}

// 500 operations a second for 3 s, of which a stall of 0.3 s meets a tenth:
// p95 is half of the stall, p99 nine tenths of it, and not less, whatever the
// protocol and however many operations a connection takes. How much more it may
// be is the simulated test's of the engine.
func TestStallShowsInEveryProtocol(t *testing.T) {
	eachProtocol(t, store.NullOptions{Memory: true, Script: "delay=1ms; stall=300ms@1s"}, func(t *testing.T, plan func(scenario.Load) load.Plan) {
		m := run(t, plan(open(base(kv.Put, kv.None), 500, 3*time.Second))).Measured
		// One operation is due every 2 ms. On a busy machine the last may still wait
		// for a connection when the window closes.
		s := measure.Summarize(m.Whole().Response, 0)
		atLeast(t, "p95", s.At(95).NS, 0.146e9)
		atLeast(t, "p99", s.At(99).NS, 0.266e9)
		if m.Due != 1500 || m.Failed() != m.Outcomes[kv.NotSent] {
			t.Errorf("due %d, outcomes %v", m.Due, m.Outcomes)
		}
	})
}

// What is preloaded is read back, each read checked, and a closed loop obeys
// Little's law.
func TestEveryProtocolReadsWhatItWrote(t *testing.T) {
	eachProtocol(t, store.NullOptions{Memory: true, Script: "delay=1ms"}, func(t *testing.T, plan func(scenario.Load) load.Plan) {
		l := base(kv.Get, kv.Local)
		l.Connections, l.Clients, l.Duration = 50, 50, 2*time.Second
		p := plan(l)
		if n, err := load.Preload(context.Background(), p); err != nil || n != l.KeySpace {
			t.Fatalf("preloaded %d, %v", n, err)
		}
		r := run(t, p)
		if m := r.Measured; m.Failed() > 0 || m.Outcomes[kv.Miss] > 0 {
			t.Errorf("outcomes %v %v", m.Outcomes, m.ErrorTexts)
		}
		littlesLaw(t, r, 50)
	})
}

// In the steady state put and get allocate nothing, in any protocol.
func TestNoProtocolAllocates(t *testing.T) {
	eachProtocol(t, store.NullOptions{ValueSize: 8}, func(t *testing.T, plan func(scenario.Load) load.Plan) {
		for _, o := range []scenario.Operation{{Kind: kv.Get, Consistency: kv.Local, Weight: 1}, {Kind: kv.Put, Weight: 1}} {
			l := sized(base(kv.Get, kv.Local), 8)
			l.Mix = []scenario.Operation{o}
			l.Connections, l.Clients = 50, 50
			l.Warmup, l.Duration = 500*time.Millisecond, time.Second
			p := plan(l)
			var before, after runtime.MemStats
			p.Mark = func(m load.Mark) {
				switch {
				case m.Ended:
					runtime.ReadMemStats(&after)
				case m.Phase == measure.Measured:
					runtime.ReadMemStats(&before)
				}
			}
			m := run(t, p).Measured
			holdsAllocations(t, after.Mallocs-before.Mallocs, m.Done, 0.05)
			if m.Failed() > 0 {
				t.Errorf("%v: outcomes %v", o.Kind, m.Outcomes)
			}
		}
	})
}
