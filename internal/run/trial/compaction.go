package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// compactTimeout limits one compaction.
const compactTimeout = 5 * time.Second

// compact compacts the store's history at intervals until ctx is canceled. A failed compaction does
// not stop the load; the method `notes` reports it.
func (w *monitor) compact(ctx context.Context) {
	settings := w.t.Spec.Load.Compact
	if settings.Interval <= 0 {
		return
	}
	load.YieldTo(w.t.Worker)
	compactor := w.m.admin.(store.Operator) // checked with the scenario
	for measure.Pause(ctx, settings.Interval) {
		began := measure.Now()
		asked, cancel := context.WithTimeout(ctx, compactTimeout)
		revision, err := compactor.TrimHistory(asked, settings.KeptRevisions)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if w.compactionFailures.count++; w.compactionFailures.firstError == "" {
				w.compactionFailures.firstError = err.Error()
			}
		case revision > 0:
			_ = w.out.Event(record.Event{ // the writer remembers an error
				Time: measure.Now(), Kind: "compaction_requested", Duration: time.Since(began),
				Text: fmt.Sprintf("quorumbench asked the store to compact its history up to revision %d", revision),
			})
		}
	}
}

// notes returns a note about failed compactions, or nil if none failed.
func (w *monitor) notes() []string {
	if w.compactionFailures.count == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s during the load failed; the first error: %s", text.Plural(uint64(w.compactionFailures.count), "compaction"), w.compactionFailures.firstError)}
}

// compactFirst compacts the store's history before the load, if the load requires this. The load
// then measures the store as if each key had been written only once.
func (t *Trial) compactFirst(ctx context.Context, m *members) error {
	if !t.Spec.Load.CompactFirst {
		return nil
	}
	t.report(Progress{Stage: "compacting"})
	ctx, cancel := context.WithTimeout(ctx, firstCompactionTimeout)
	defer cancel()
	if _, err := m.admin.(store.Operator).Compact(ctx); err != nil { // checked with the scenario
		return fmt.Errorf("cannot compact the store's history before the load: %w", err)
	}
	return nil
}

// firstCompactionTimeout is long enough for compacting the history of a large preload.
const firstCompactionTimeout = time.Minute
