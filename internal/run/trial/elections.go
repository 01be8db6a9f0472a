package trial

import (
	"fmt"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Elections are known from two sources: the log of the elected member, and the members' status. The
// log contains the exact time. The status shows an election only some time afterwards.
const (
	// maxClockDifference limits the difference between the clock of a log and the clock of this
	// process.
	maxClockDifference = time.Second
	// maxLogDelay is the maximum delay after which an election that was seen in the status also
	// appears in a log.
	maxLogDelay = time.Second
)

// elections contains each election during a load exactly once.
type elections struct {
	mu        sync.Mutex
	logged    []election // reported by logs
	pending   []election // seen in the status, but not in a log yet
	unmatched []election // seen in the status and not reported by any log
}

// election is what one of the sources reports about an election.
type election struct {
	member string // name of the elected member
	term   uint64 // 0 if unknown
	before uint64 // the previous term, if known
	at     time.Time
	since  time.Time // time at which the previous leader was last confirmed; zero if unknown
}

// addLogged adds an election that a log reports.
func (l *elections) addLogged(e election) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logged = append(l.logged, e)
}

// add adds an election that was seen in the members' status.
func (l *elections) add(e election) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, e)
}

// unlogged removes and returns the elections that were seen in the status before the given time and
// that no log has reported. The time of such an election is the time at which it was seen.
func (l *elections) unlogged(before time.Time) (out []election) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var waiting []election
	for _, e := range l.pending {
		switch {
		case l.isLogged(&e):
		case e.at.Before(before):
			out = append(out, e)
		default:
			waiting = append(waiting, e)
		}
	}
	l.pending, l.unmatched = waiting, append(l.unmatched, out...)
	return out
}

// isLogged reports whether a log also reports an election that was seen in the status. If the log
// line contains a term, the terms must be equal. Otherwise the line must have been written between
// the time at which the previous leader was last confirmed and the time at which the new leader was
// seen.
func (l *elections) isLogged(seen *election) bool {
	for _, t := range l.logged {
		switch {
		case t.member != seen.member:
		case t.term > 0 && seen.term > 0:
			if t.term == seen.term {
				return true
			}
		case !t.at.Before(seen.since.Add(-maxClockDifference)) && !t.at.After(seen.at.Add(maxClockDifference)):
			return true
		}
	}
	return false
}

// countBetween counts the elections between two times, including both times.
func (l *elections) countBetween(from, to time.Time) int {
	return l.count(func(at time.Time) bool { return !at.Before(from) && !at.After(to) })
}

// count counts the elections at times for which the function `matches` returns true.
func (l *elections) count(matches func(at time.Time) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range [][]election{l.logged, l.unmatched} {
		for _, e := range list {
			if matches(e.at) {
				n++
			}
		}
	}
	return n
}

// event returns the event for an election that no log reports.
func (e *election) event() record.Event {
	text := fmt.Sprintf("%s became leader in term %d, after term %d", e.member, e.term, e.before)
	return record.Event{
		Time: e.at, Kind: string(store.Elected), Member: e.member,
		Text: fmt.Sprintf("%s (seen at %s)", text, e.at.UTC().Format("15:04:05.000")),
	}
}
