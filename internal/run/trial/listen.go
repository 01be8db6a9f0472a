package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store"
)

// How often the members' logs are read, and how long before the load what they
// told still belongs to the trial.
const (
	readEvery   = time.Second
	eventsFrom  = time.Second
	signalClock = time.Millisecond // what logs tell times to
)

// logs are the members' logs, followed from where they ended before the
// preload. Without any, as of a cluster that ran already, both are nil.
type logs struct {
	followed *probe.Logs
	signals  store.Signalling
}

// followLogs begins to follow the logs of the members that we started, if the
// store can read them.
func (t *Trial) followLogs() logs {
	signals, ok := t.Cluster.Store.(store.Signalling)
	if !ok {
		return logs{}
	}
	var list []probe.Log
	for _, p := range t.Cluster.Processes {
		if p.LogFile != "" {
			list = append(list, probe.Log{Member: p.Member, Path: p.LogFile})
		}
	}
	if len(list) == 0 {
		return logs{}
	}
	return logs{probe.FollowLogs(list), signals}
}

func (l *logs) close() {
	if l.followed != nil {
		l.followed.Close()
	}
}

// listener returns a listener to what the logs have from shortly before a load
// on, which began at the given time; nil without logs.
func (l *logs) listener(began time.Time) *probe.Listener {
	if l.followed == nil {
		return nil
	}
	return probe.NewListener(l.signals, began.Add(-eventsFrom).Truncate(signalClock))
}

// listen records what the members' logs have, until ctx ends.
func (w *watcher) listen(ctx context.Context) {
	if w.heard == nil {
		return
	}
	load.Background()
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		began := time.Now()
		w.read()
		w.settle(began.Add(-logsLag))
	}
}

// read records what the logs have that was not read yet.
func (w *watcher) read() {
	w.t.logs.followed.Read(func(member string, line []byte) {
		if h, ok := w.heard.Line(member, line, time.Now()); ok {
			w.happened(h)
		}
	})
}

// lastWords reads the logs once more when the load has ended and the members
// were asked for the last time: what happened at the end has been written by
// then. What was only counted until now is recorded too.
func (w *watcher) lastWords() {
	if w.heard != nil {
		w.read()
		for _, h := range w.heard.Beyond() {
			w.happened(h)
		}
	}
	w.settle(time.Now().Add(time.Hour)) // all of them
}

// happened records what a log reports.
func (w *watcher) happened(h probe.Happened) {
	e := record.Event{
		Time: h.Time, Kind: string(h.Kind), Member: h.Member, Duration: h.Duration, Line: h.Line,
		Text: h.Member + " " + h.Kind.Says(),
	}
	switch {
	case h.Count > 1:
		e.Count, e.Total, e.First = h.Count, h.Total, h.First
		e.Text += fmt.Sprintf(", %d more times after the first %d", h.Count, probe.MostOfAKind)
		if h.Duration > 0 {
			e.Text += fmt.Sprintf(" (%s in all, the longest %s)", measure.Duration(float64(h.Total)), measure.Duration(float64(h.Duration)))
		}
	case h.Duration > 0:
		e.Text += fmt.Sprintf(" (%s)", measure.Duration(float64(h.Duration)))
	}
	if h.Kind == store.Elected && h.Count <= 1 {
		w.elections.tell(election{member: h.Member, term: h.Term, at: h.Time})
	}
	_ = w.out.Event(e) // an error stays in the writer
}
