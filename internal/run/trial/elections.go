package trial

import (
	"fmt"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// An election has two sources: the log of the member that was elected, which has the exact
// time, and the members' status, which shows it some time later.
const (
	// clocksDiffer bounds the difference between a log's clock and ours.
	clocksDiffer = time.Second
	// logsLag is how long after an election was seen its line may still be missing from the
	// log.
	logsLag = time.Second
)

// elections holds the elections during a load, each once.
type elections struct {
	mu     sync.Mutex
	logged []election // reported by logs
	seen   []election // seen in the status and not in a log yet
	kept   []election // seen in the status only
}

// election is an election as one source reports it.
type election struct {
	member string // its name
	term   uint64 // 0: unknown
	before uint64 // the previous term, if known
	at     time.Time
	since  time.Time // when the previous leader was last confirmed; zero: unknown
}

// addLogged adds an election from a log.
func (l *elections) addLogged(e election) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logged = append(l.logged, e)
}

// see adds an election that was seen in the members' status.
func (l *elections) see(e election) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, e)
}

// unlogged removes and returns the elections that were seen before the given time and that
// no log reports. Their time is the time at which they were seen.
func (l *elections) unlogged(before time.Time) (out []election) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var waiting []election
	for _, e := range l.seen {
		switch {
		case l.isLogged(&e):
		case e.at.Before(before):
			out = append(out, e)
		default:
			waiting = append(waiting, e)
		}
	}
	l.seen, l.kept = waiting, append(l.kept, out...)
	return out
}

// isLogged reports whether a log reports the election that was seen. A line with a term
// must have the same term. A line without one must be from the time between the last
// confirmation of the previous leader and the sight of the new one.
func (l *elections) isLogged(seen *election) bool {
	for _, t := range l.logged {
		switch {
		case t.member != seen.member:
		case t.term > 0 && seen.term > 0:
			if t.term == seen.term {
				return true
			}
		case !t.at.Before(seen.since.Add(-clocksDiffer)) && !t.at.After(seen.at.Add(clocksDiffer)):
			return true
		}
	}
	return false
}

// within counts the elections between two times, both included.
func (l *elections) within(from, to time.Time) int {
	return l.count(func(at time.Time) bool { return !at.Before(from) && !at.After(to) })
}

// count counts the elections whose time satisfies is.
func (l *elections) count(is func(at time.Time) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range [][]election{l.logged, l.kept} {
		for _, e := range list {
			if is(e.at) {
				n++
			}
		}
	}
	return n
}

// event returns the event of an election that no log reports.
func (e *election) event() record.Event {
	text := fmt.Sprintf("%s leads at term %d, after term %d", e.member, e.term, e.before)
	return record.Event{
		Time: e.at, Kind: string(store.Elected), Member: e.member,
		Text: fmt.Sprintf("%s (seen at %s)", text, e.at.UTC().Format("15:04:05.000")),
	}
}
