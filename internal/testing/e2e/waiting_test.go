//go:build linux

package e2e_test

import (
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// An HTTP/1.1 connection carries one operation at a time. If all connections are occupied, an
// operation must wait for a connection. The verdict must report such waits, but not as lateness of
// the generator.
func TestConnectionsLimitHTTP1(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"etcdv2", "consul"} {
		w := newWorld(t)
		endpoint := w.nullServer(t, "--protocol", store, "--script", "delay=10ms")
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			// Two connections can complete 200 operations per second.
			trial := w.bench(t, []string{endpoint}, exitDone, "put", "--store", store, "--conns", "2", "--rate", "400", "--duration", "2s", "--timeout", "1m")
			if trial.WaitedForConnection < trial.Due/2 || rule(trial, 16) == "" || rule(trial, 8) != "" {
				r.Errorf("%s: %d of %d operations waited for a connection, and the verdict is %+v", store, trial.WaitedForConnection, trial.Due, trial.Verdict)
			}
		})
	}
}

// If the operations in flight reached their limit only during the warm-up, the verdict does not
// mention the limit.
func TestLimitReachedInTheWarmUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t, "--script", "delay=1ms; stall=1500ms@300ms")
	trial := w.bench(t, []string{endpoint}, exitDone, "put", "--conns", "4", "--rate", "100", "--max-in-flight", "100", "--warmup", "3s", "--duration", "2s")
	if rule(trial, 16) != "" {
		t.Errorf("at most %d operations were in flight, and the verdict is %+v", trial.PeakInFlight, trial.Verdict)
	}
}

// Operations that were never written to a connection are counted as a separate kind of error.
func TestUnsentOperationsHaveTheirKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, endpoint := w.startNullServer(t)
	p := w.start(t, "bench", "get", "--no-preload", "--endpoints", endpoint, "--conns", "2", "--clients", "9",
		"--duration", "2s", "--timeout", "1s", "--out", w.path("run"), "--format", "json")
	p.measuring(t, w.path("run"), "trial-01-get")
	server.signal(t, syscall.SIGKILL)
	p.end(t) // the verdict does not matter
	trial := result(t, p)
	if trial.ErrorsByKind[kv.NotSent.String()] == 0 {
		t.Fatalf("the errors are %v", trial.ErrorsByKind)
	}
	for _, s := range trial.ByRole {
		if s.Operation != kv.Get.String() {
			t.Errorf("an entry by role with %d operations and %d errors has the operation %q", s.Operations, s.Errors, s.Operation)
		}
	}
}
