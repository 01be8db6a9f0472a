package runner

import (
	"path/filepath"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// A trial whose preload failed does not count as a trial that has begun.
func TestFailedPreloadIsNoBegunTrial(t *testing.T) {
	const file = `
name: rejected
trials:
  - {name: put, store: etcd, members: 1, operation: put, key-space: 10, value-size: 1MiB, preload: true, total: 10, settings: {max-request-bytes: 100000}}
`
	s, err := scenario.Parse("rejected.yaml", []byte(file), registry.Catalog{}, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	failures, begun := 0, -1
	var r *run
	next := func(previous *record.Trial) (PlannedTrial, error) {
		if failures > 0 || previous != nil {
			begun = r.begunTrials
			return PlannedTrial{}, nil
		}
		return PlannedTrial{Trial: &s.Trials[0], OnPreloadFailure: func(error) bool { failures++; return true }}, nil
	}
	r = newRun(Options{Scenario: s, Out: filepath.Join(t.TempDir(), "run"), Lookup: registry.Lookup, Next: next})
	if _, err := r.execute(t.Context()); err != nil || failures != 1 {
		t.Fatalf("the preload failed %d times, want 1: %v", failures, err)
	}
	if begun != 0 {
		t.Errorf("after the failed preload, %d trials have begun, want 0", begun)
	}
}
