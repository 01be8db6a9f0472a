package trial

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// writeEarlier writes the earlier versions of the watched key. The load's watchers catch up on
// these versions later.
func (t *Trial) writeEarlier(ctx context.Context, a *load.Assignment) error {
	if t.Spec.Load.Watch == nil {
		return nil
	}
	w := *t.Spec.Load.Watch
	a.Load.Watch = &w
	if w.EarlierEvents == 0 || w.StartRevision > 0 || len(w.Key) == 0 {
		return nil
	}
	var err error
	w.StartRevision, err = t.Worker.WriteVersions(ctx, a)
	return err
}

// recordCreation records the time that it took to create the watchers.
func (w *monitor) recordCreation(m *measure.Totals) error {
	t := m.Watching
	if t == nil || t.Created == nil {
		return nil
	}
	phase := measure.Measured
	if watch := w.t.Spec.Load.Watch; watch != nil && !watch.CreatedInWindow && w.t.Spec.Load.Warmup > 0 {
		phase = measure.Warmup
	}
	return w.out.WatchersCreated(phase, t.Created, t.CreatedSeconds)
}
