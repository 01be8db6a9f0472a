package load_test

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/certs"
)

// In every protocol, a load can use a new connection and session for each operation. No operation
// is lost, no reply is wrong, and all clients are always busy.
func TestEveryProtocolConnectsForEachOperation(t *testing.T) {
	t.Parallel()
	eachProtocol(t, store.NullOptions{Memory: true, Script: "delay=1ms"}, func(t *testing.T, plan func(scenario.Load) task) {
		for _, o := range []scenario.Operation{{Kind: kv.Put, Weight: 1}, {Kind: kv.Get, Consistency: kv.Local, Weight: 1}} {
			l := base(o.Kind, o.Consistency)
			l.Connections, l.Clients, l.Total, l.NewConnection = 20, 20, 500, true
			m := run(t, plan(l)).Measured
			if m.Due != 500 || m.Outcomes[kv.OK] != 500 || m.Reconnects != 0 {
				t.Errorf("%v: due %d, outcomes %v %v", o.Kind, m.Due, m.Outcomes, m.ErrorTexts)
			}
			if p50 := m.MergedCell().Service.ValueAtQuantile(50); p50 < int64(time.Millisecond) {
				t.Errorf("%v: the median is %v, less than the server's own delay", o.Kind, time.Duration(p50))
			}
		}
		l := open(base(kv.Get, kv.Local), 200, time.Second)
		l.Connections, l.Clients, l.NewConnection = 200, 200, true // one connection for each operation in flight
		if m := run(t, plan(l)).Measured; m.Due != 200 || m.Outcomes[kv.OK] != 200 {
			t.Errorf("open loop: due %d, outcomes %v %v", m.Due, m.Outcomes, m.ErrorTexts)
		}
	})
}

// Both pollers can use a new connection for each operation, with and without TLS, and also if the
// endpoint has a host name instead of an address.
func TestPollersConnectForEachOperation(t *testing.T) {
	t.Parallel()
	server, client := certs.Configs(t)
	for name, c := range map[string]struct{ portable, secured, named bool }{
		"system": {}, "portable": {portable: true}, "system, TLS": {secured: true}, "portable, TLS": {portable: true, secured: true},
		"system, by name": {named: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := store.NullOptions{Memory: true}
			if c.secured {
				o.TLS = server
			}
			l := base(kv.Put, kv.NoConsistency)
			l.Connections, l.Clients, l.Total, l.NewConnection = 20, 20, 200, true
			endpoint := serve(t, "", o)
			if c.named {
				endpoint = "localhost" + endpoint[len("127.0.0.1"):]
			}
			p := taskFor(endpoint, l)
			if c.secured {
				p.secure(client)
			}
			if c.portable {
				p.Worker.Portable()
			}
			if m := run(t, p).Measured; m.Due != 200 || m.Outcomes[kv.OK] != 200 {
				t.Errorf("due %d, outcomes %v %v", m.Due, m.Outcomes, m.ErrorTexts)
			}
		})
	}
}

// If no server listens at the endpoint, each operation fails at its timeout with a definite error
// whose text contains the reason.
func TestNewConnectionsToAClosedPortFail(t *testing.T) {
	t.Parallel()
	l := base(kv.Put, kv.NoConsistency)
	l.Connections, l.Clients, l.Duration, l.Timeout, l.NewConnection = 5, 5, time.Second, 300*time.Millisecond, true
	m := run(t, taskFor("127.0.0.1:1", l)).Measured
	if m.Due == 0 || m.Outcomes[kv.NotSent] != m.Due || m.ErrorTexts[kv.NotSent] != "could not connect to 127.0.0.1:1: connect: connection refused" {
		t.Errorf("due %d, outcomes %v %v", m.Due, m.Outcomes, m.ErrorTexts)
	}
	if s := measure.Summarize(m.MergedCell().Response, m.Failed()); !s.Percentile(50).Failed {
		t.Error("the median of failed operations is not marked as failed")
	}
}
