package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/signals"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// followLogs starts following the logs of all members whose hosts are known.
func (t *Trial) followLogs(ctx context.Context) (l logs, err error) {
	for _, m := range t.Cluster.Members() {
		at := slices.IndexFunc(l.followed, func(f hostLogs) bool { return f.logHost == m.Host })
		if at < 0 {
			at = len(l.followed)
			l.followed = append(l.followed, hostLogs{logHost: m.Host})
		}
		f := &l.followed[at]
		for _, p := range m.Processes() {
			f.paths, f.members = append(f.paths, p.LogFile), append(f.members, m.Name)
		}
	}
	l.signal = t.Cluster.Store.Signal
	for i := range l.followed {
		f := &l.followed[i]
		if f.Logs, err = f.logHost.Follow(ctx, f.paths); err != nil {
			l.followed = l.followed[:i]
			l.close()
			return logs{}, err
		}
	}
	return l, nil
}

// listen records the events in the members' logs until ctx is canceled.
func (w *monitor) listen(ctx context.Context) {
	if w.listener == nil {
		return
	}
	load.YieldTo(w.t.Worker)
	ticker := time.NewTicker(readInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		began := measure.Now()
		w.read(ctx)
		w.recordUnlogged(began.Add(-maxLogDelay))
	}
}

// read records the events in the lines that were added to the logs. It skips logs that cannot be
// read.
func (w *monitor) read(ctx context.Context) {
	for _, f := range w.t.logs.followed {
		for more := true; more; {
			lines, rest, err := f.Read(ctx)
			if err != nil {
				break
			}
			for _, line := range lines {
				if h, ok := w.listener.Line(f.members[line.File], line.Text, signals.Reading{At: line.At, Ahead: line.Ahead, AheadUnknown: line.AheadUnknown}); ok {
					w.recordEvent(h)
				}
			}
			more = rest
		}
	}
}

// readLastLogs reads the logs once more, after the load has ended and the members were asked for
// their status for the last time. By then, all events of the load are in the logs. readLastLogs
// also records the sums of events that were counted but not recorded individually.
func (w *monitor) readLastLogs(ctx context.Context) {
	if w.listener != nil {
		w.read(ctx) // the method `listen` may have stopped in the middle of a batch; the first call of read completes the batch
		w.read(ctx)
		for _, h := range w.listener.Overflow() {
			w.recordEvent(h)
		}
	}
	w.recordUnlogged(measure.Now().Add(time.Hour)) // all remaining elections
}

// recordEvent records an event that a log reports.
func (w *monitor) recordEvent(h signals.LogEvent) {
	e := record.Event{
		Time: h.Time, Kind: string(h.Kind), Member: h.Member, Duration: h.Duration, Line: h.Line,
		Text: h.Member + " " + h.Kind.Predicate(),
	}
	switch {
	case h.Count > 1:
		e.Count, e.Total, e.First = h.Count, h.Total, h.First
		e.Text += fmt.Sprintf(", %d more times after the first %d", h.Count, signals.MaxPerKind)
		if h.Duration > 0 {
			e.Text += fmt.Sprintf(" (%s in total, the longest %s)", text.Duration(float64(h.Total)), text.Duration(float64(h.Duration)))
		}
	case h.Duration > 0:
		e.Text += fmt.Sprintf(" (%s)", text.Duration(float64(h.Duration)))
	}
	if h.Kind == store.Elected && h.Count <= 1 {
		w.elections.addLogged(election{member: h.Member, term: h.Term, at: h.Time})
	}
	_ = w.out.Event(e) // the writer remembers an error
}
