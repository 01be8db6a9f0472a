//go:build linux

package e2e_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// calls returns the number of calls in a recording, by method, and the reasons for the gaps in the
// recording. It ignores gaps on the HTTP/1.1 connections over which quorumbench reads a member's
// metrics.
func calls(t *testing.T, path string) (by map[string]int, gaps []string) {
	t.Helper()
	by = map[string]int{}
	_, problem, err := call.ReadRecording(path, func(r call.Record) error {
		if r.Gap != nil {
			if !strings.Contains(r.Gap.Reason, "does not speak HTTP/2") {
				gaps = append(gaps, r.Gap.Reason)
			}
		} else if r.Call.OK() {
			by[r.Call.Method]++
		}
		return nil
	})
	if err != nil || problem != "" {
		t.Fatal(err, problem)
	}
	return by, gaps
}

// recordsFrom starts `traffic record` and waits until the recording has begun.
func (w *world) recordsFrom(t *testing.T, args ...string) *startedProgram {
	t.Helper()
	p := w.start(t, append([]string{"traffic", "record"}, args...)...)
	eventually(t, patience, "the recording had begun", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return strings.Contains(p.stdout.String(), "\n")
		}
	})
	return p
}

// TestCaptureRecordsEveryCall checks a capture on a router between a member and its clients, where
// each packet appears on two interfaces. The capture must record every call exactly once. It cannot
// decode connections that were opened before the capture, so it must report them.
func TestCaptureRecordsEveryCall(t *testing.T) {
	t.Parallel()
	if !inNetwork(t) {
		return
	}
	w := newWorld(t)
	h := newHub(t, 2)
	endpoint := h.host(0) + ":2379"
	server := w.startWith(t, "nsenter", h.commandIn(0, os.Getenv(binaryEnv), "null-server", "--listen", endpoint)...)
	eventually(t, patience, "the null server was ready", func() bool { return strings.Contains(server.stdout.String(), "\n") })
	bench := func(args ...string) *startedProgram {
		args = append(h.commandIn(1, os.Getenv(binaryEnv), "bench", "put", "--endpoints", endpoint, "--conns", "8", "--clients", "64", "--format", "json"), args...)
		return w.startWith(t, "nsenter", args...)
	}
	const total = 3000
	recorder := w.recordsFrom(t, "--capture", endpoint, "--out", w.path("a.qbrec"))
	mistaken := w.recordsFrom(t, "--capture", "10.1.2.3:2379", "--out", w.path("none.qbrec"))
	trial := result(t, bench("--total", strconv.Itoa(total), "--val-size", "3000").exits(t, exitDone))
	if trial.Errors != 0 || trial.Operations != total {
		t.Errorf("%d operations succeeded, and %d failed", trial.Operations, trial.Errors)
	}
	recorder.signal(t, syscall.SIGINT)
	recorder.exits(t, exitDone)
	tried := 1 // the operation that quorumbench tries before the load
	if by, gaps := calls(t, w.path("a.qbrec")); by["KV/Put"] != total+tried || len(gaps) > 0 {
		t.Errorf("the recording has the calls %v and the gaps %q", by, gaps)
	}

	mistaken.signal(t, syscall.SIGINT)
	mistaken.exits(t, exitDone).awaitText(t, "no connection to 10.1.2.3:2379 was seen, but this port had traffic at other addresses ([10.99.1.2])")

	load := bench("--duration", "3s")
	load.awaitText(t, "measuring")
	recorder = w.recordsFrom(t, "--capture", endpoint, "--out", w.path("late.qbrec"))
	load.exits(t, exitDone)
	recorder.signal(t, syscall.SIGINT)
	recorder.exits(t, exitDone).awaitText(t, "already open when the capture began, and are not recorded")
	if by, gaps := calls(t, w.path("late.qbrec")); by["KV/Put"] != 0 || len(gaps) < 8 {
		t.Errorf("the recording has the calls %v and the gaps %q", by, gaps)
	}
	server.signal(t, syscall.SIGTERM)
	server.exits(t, exitDone)
}
