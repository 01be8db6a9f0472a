package upload

import (
	"context"
	"fmt"
	"time"
)

// watchdog cancels an upload if no data is transferred for some time.
type watchdog struct {
	ctx     context.Context
	timeout time.Duration
	timer   *time.Timer
	cancel  context.CancelCauseFunc
}

func newWatchdog(ctx context.Context, timeout time.Duration, d *Destination) *watchdog {
	w := &watchdog{timeout: timeout}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(timeout, func() {
		w.cancel(fmt.Errorf("no data was transferred to or from %s for %v; check that the server is still running", d, timeout))
	})
	return w
}

func (w *watchdog) reset() { w.timer.Reset(w.timeout) }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
}
