package upload

import (
	"context"
	"fmt"
	"time"
)

// watch cancels an upload if no data is transferred for some time.
type watch struct {
	ctx   context.Context
	after time.Duration
	timer *time.Timer
	end   context.CancelCauseFunc
}

func newWatch(ctx context.Context, after time.Duration, d *Destination) *watch {
	w := &watch{after: after}
	w.ctx, w.end = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(after, func() {
		w.end(fmt.Errorf("no data was transferred to or from %s for %v; check that the server is still running", d, after))
	})
	return w
}

func (w *watch) touch() { w.timer.Reset(w.after) }

func (w *watch) stop() {
	w.timer.Stop()
	w.end(nil)
}
