package load_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// If a store does not respond, the preload returns an error after one timeout. It does not wait for
// one timeout after another.
func TestPreloadGivesUpOnAnUnresponsiveStore(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"never every 1":             "could not read the key space: ",
		"stall=1h@0s":               "could not read the key space: ",
		"error=unavailable every 1": "could not read the key space: ",
	} {
		l := base(kv.Get, kv.Linearizable)
		l.KeySpace, l.Timeout = 1_000_000, 200*time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := preload(ctx, taskFor(serve(t, script, store.NullOptions{Memory: true}), l))
		if ctx.Err() != nil {
			t.Errorf("%s: the preload did not give up before the context ended", script)
		}
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// If a pass of writes ends early, the keys that it did not reach do not count as written.
func TestPreloadGivesUpInTheMiddleOfWriting(t *testing.T) {
	t.Parallel()
	l := base(kv.Put, kv.NoConsistency)
	l.KeySpace, l.Timeout, l.ValueSize = 200_000, 200*time.Millisecond, 16
	// Before the stall, the preload has enough time to read all keys, but not to write all of them
	// too.
	endpoint := serve(t, "delay=1ms; stall=1h@1500ms", store.NullOptions{Memory: true})
	_, err := preload(t.Context(), taskFor(endpoint, l))
	if err == nil || !strings.Contains(err.Error(), "could not ") || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("%v", err)
	}
}

// A preload repeats a failed operation instead of giving up. In CI, the operations fail with only
// two of five errors.
func TestPreloadRepeatsFailedOperations(t *testing.T) {
	t.Parallel()
	for _, script := range settle.Sample(t, 2, []string{"error=unavailable every 97", "error=refused every 97", "error=store_timeout every 301", "error=bad_request every 97", "error=denied every 97"}) {
		l := base(kv.Get, kv.Linearizable)
		l.KeySpace = 2_000
		done, err := preload(t.Context(), taskFor(serve(t, script, store.NullOptions{Memory: true}), l))
		if err != nil || done.Written != l.KeySpace {
			t.Errorf("%s: the preload wrote %+v, error %v", script, done, err)
		}
	}
}
