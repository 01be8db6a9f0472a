package trial

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// maxP99Age is how long the p99 of a one-second interval is displayed. This p99 becomes known only
// when all operations that were due in the interval have ended. While the store stalls, no new p99
// becomes known.
const maxP99Age = 2 * time.Second

// progress reports the load's progress. The reported throughput counts only operations that
// completed within the last second, so that it drops to 0 in a stall.
func (w *monitor) progress(ctx context.Context, g load.Job) {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	var recent rateMeter
	var window windowCounts
	failed, asked := uint64(0), measure.Now()
	for {
		p, now := g.Progress(), measure.Now()
		// A paused member keeps its connections open, so only timeouts reveal it.
		if p.Failed > failed && now.Sub(asked) >= time.Second {
			failed, asked = p.Failed, now
			w.follower.Refresh()
		}
		current := Progress{Stage: p.Phase, PerSecond: recent.rate(now, p.Done), Errors: p.Failed, InFlight: p.InFlight}
		window.fill(p, now, &current)
		w.mu.Lock()
		if now.Sub(w.lastAt) < maxP99Age {
			current.P99 = w.lastP99
		}
		w.mu.Unlock()
		w.t.report(current)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// windowCounts counts the operations that ended since progress first saw that the window is open.
// The counts are only displayed, not recorded.
type windowCounts struct {
	openedAt     time.Time
	done, failed uint64 // before the window
	length       time.Duration
}

func (o *windowCounts) fill(p load.Progress, now time.Time, progress *Progress) {
	open := p.Phase == measure.Measured.String()
	if o.openedAt.IsZero() && open {
		o.openedAt, o.done, o.failed = now, p.Done, p.Failed
	}
	if o.openedAt.IsZero() {
		return
	}
	if open {
		o.length = now.Sub(o.openedAt)
	}
	progress.Succeeded, progress.WindowElapsed = p.Done-o.done, o.length
	progress.Ended = progress.Succeeded + p.Failed - o.failed
}

// rateMeter computes the rate at which a count increased in the last second.
type rateMeter struct{ readings []reading }

type reading struct {
	at    time.Time
	count uint64
}

// rate adds the current count and returns the increase per second. In the first call, it returns 0.
func (m *rateMeter) rate(now time.Time, count uint64) float64 {
	m.readings = append(m.readings, reading{now, count})
	for len(m.readings) > 2 && now.Sub(m.readings[1].at) >= time.Second {
		m.readings = m.readings[1:]
	}
	first := m.readings[0]
	if now.Equal(first.at) {
		return 0
	}
	return float64(count-first.count) / now.Sub(first.at).Seconds()
}
