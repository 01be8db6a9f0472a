package trial

import (
	"fmt"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// An election is known from two sources: the log of the member that was elected,
// whose time is right, and the members' answers, by which it is seen some time
// later.
const (
	// clocksDiffer is how far a log's time may be from ours.
	clocksDiffer = time.Second
	// logsLag is how long after an election was seen its line may still be on
	// its way into the log.
	logsLag = time.Second
)

// elections are those beside a load, each known once.
type elections struct {
	mu     sync.Mutex
	logged []election // by logs
	seen   []election // by asking, and not in a log yet
	kept   []election // by asking, which no log has
}

// election is one, as a source has it.
type election struct {
	member string // its name
	term   uint64 // 0: not said
	before uint64 // the term before, where that was seen
	at     time.Time
	since  time.Time // the leader before was confirmed then; zero: that is not known
}

// addLogged takes an election from a log.
func (l *elections) addLogged(e election) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logged = append(l.logged, e)
}

// see takes an election that was seen by asking.
func (l *elections) see(e election) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, e)
}

// unlogged takes out those that were seen before the given time and that no log
// has: what remains is the time at which they were seen.
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

// isLogged reports whether a log has what was seen. A line that names its term is
// of that term's election. Of the others it is one between the time at which
// the leader before was still confirmed and that at which the new one was seen.
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

// within counts the elections from one time to another, both included.
func (l *elections) within(from, to time.Time) int {
	return l.count(func(at time.Time) bool { return !at.Before(from) && !at.After(to) })
}

// count counts the elections at the times of which is is true.
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

// event is an election that was seen by asking alone.
func (e *election) event() record.Event {
	text := fmt.Sprintf("%s leads at term %d, after term %d", e.member, e.term, e.before)
	return record.Event{
		Time: e.at, Kind: string(store.Elected), Member: e.member,
		Text: fmt.Sprintf("%s (seen at %s)", text, e.at.UTC().Format("15:04:05.000")),
	}
}
