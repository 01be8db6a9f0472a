//go:build linux

package e2e_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// TestLyingWatchesAreFound checks that verification finds lost, duplicated and reordered events of
// persistent watches in the history, and reports no violation if the events are correct.
func TestLyingWatchesAreFound(t *testing.T) {
	t.Parallel()
	for _, st := range registry.All() {
		can := st.Capabilities()
		if _, ok := st.(store.NullServerProvider); !ok || can.Watches.Modes[kv.PersistentWatch] == "" {
			continue
		}
		for script, want := range map[string][]string{
			"watch=lose every 97":      {"missing watch event"},
			"watch=duplicate every 97": {"duplicate watch event"},
			"watch=reorder every 97":   {"reordered watch event", "missing watch event", "wrong watch progress"},
			"delay=uniform(0ms,1ms)":   nil,
		} {
			for _, mode := range []kv.WatchMode{kv.PersistentWatch, kv.OnceWatch} {
				if want != nil && mode == kv.OnceWatch {
					continue // a one-shot watch receives a later event in place of a lost event, so the loss is not a violation
				}
				t.Run(fmt.Sprint(st.Name(), " ", mode, " ", script), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					endpoint := w.nullServer(t, "--protocol", st.Name(), "--script", script)
					trial := w.bench(t, []string{endpoint}, exitOf(want), "put", "--store", st.Name(), "--total", "3000", "--conns", "4", "--clients", "8", "--key-space-size", "10",
						"--val-size", "32", "--verify", "--timeout", "10s", "--watchers", "20", "--streams", "4", "--watch-conns", "4", "--watch-mode", mode.String())
					a := trial.Verification
					if a == nil || a.Failure != "" || a.Watches == nil || a.Watches.Events == 0 {
						t.Fatalf("the verification is %+v", a)
					}
					onlyFound(t, a, want)
				})
			}
		}
	}
}

// TestKeysOfSessionsAreChecked checks that verification requires a session's keys to exist until
// the session ends, but not after that.
func TestKeysOfSessionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, st := range registry.All() {
		if _, ok := st.(store.NullServerProvider); !ok || st.Capabilities().Operations[kv.Ephemeral] == "" {
			continue
		}
		for script, want := range map[string][]string{"": nil, "lie=absent every 61": {"lost write", "stale read"}} {
			t.Run(st.Name()+" "+script, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				endpoint := w.nullServer(t, "--protocol", st.Name(), "--script", script)
				trial := w.bench(t, []string{endpoint}, exitOf(want), "mixed", "--store", st.Name(), "--mix", "ephemeral=4,delete=2,get:local=6", "--no-preload",
					"--total", "6000", "--conns", "8", "--clients", "16", "--key-space-size", "60", "--val-size", "32", "--verify")
				a := trial.Verification
				if a == nil || a.Failure != "" || a.Operations == 0 {
					t.Fatalf("the verification is %+v", a)
				}
				onlyFound(t, a, want)
			})
		}
	}
}

// exitOf returns the exit code of a load in which verification must find the given kinds of
// violations. If the list is nil, verification must find none.
func exitOf(want []string) int {
	if want == nil {
		return exitDone
	}
	return exitFailed
}

// onlyFound checks that all violations are of the given kinds, and that there is at least one
// violation unless kinds is nil.
func onlyFound(t *testing.T, a *record.Verification, kinds []string) {
	t.Helper()
	for kind := range a.WrongByKind {
		if !slices.Contains(kinds, kind) {
			t.Errorf("the verification found %q, which is not one of the expected kinds: %+v", kind, a.WrongByKind)
		}
	}
	if len(a.WrongByKind) > 0 != (kinds != nil) {
		t.Errorf("the violations found are %v", a.WrongByKind)
	}
}
