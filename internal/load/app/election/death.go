package election

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// deaths schedules and counts the deaths of leaders. A dead leader sends nothing, not even
// keep-alives, so the other candidates only learn of a death when its session expires.
type deaths struct {
	at    int64 // when the leaders die, all at once; 0: no deaths, or they have begun
	due   int64 // the first value of at
	count int   // the leaders of the first count offices die
	// failover is the time from when a leader was due to die until the next leader knows that it
	// leads, orphaned from the death, and behind from the earliest end of the dead leader's
	// session.
	failover, orphaned, behind measure.Calls
	returning                  ring // dead candidates, by when they return
}

func newDeaths(c *Config, dies time.Duration) deaths {
	d := deaths{at: int64(dies), due: int64(dies)}
	if dies == 0 {
		return d
	}
	d.count, d.returning = c.Storm, ring{of: make([]int32, c.Storm)}
	span := func(name string) measure.Calls {
		calls := measure.NewCalls(name, kv.Delete, kv.None)
		calls.Span = true
		return calls
	}
	d.failover, d.orphaned, d.behind = span(measure.Failover), span("no leader after a death"), span("no leader after expiry")
	d.failover.Due = uint64(c.Storm) // #nosec G115 -- a count
	return d
}

// appendTo appends the time spans that were measured.
func (d *deaths) appendTo(all []measure.Calls) []measure.Calls {
	for _, span := range []*measure.Calls{&d.failover, &d.orphaned, &d.behind} {
		if span.Due > 0 {
			all = append(all, *span)
		}
	}
	return all
}

// next returns the time of the next death or return.
func (d *deaths) next(of []candidate) int64 {
	at := int64(math.MaxInt64)
	if d.at > 0 {
		at = d.at
	}
	if d.returning.n > 0 {
		at = min(at, of[d.returning.of[d.returning.first]].due)
	}
	return at
}

// dieAndReturn executes the deaths and returns that are due.
func (s *Script) dieAndReturn() {
	d := &s.deaths
	if d.at > 0 && s.now >= d.at {
		d.at = 0
		for i := range d.count {
			s.offices[i].deathDue = d.due
			s.kill(&s.offices[i])
		}
	}
	for d.returning.n > 0 && s.candidates[d.returning.of[d.returning.first]].due <= s.now {
		s.reviveCandidate(int(d.returning.pop()))
	}
}

// kill executes an office's pending death if the office has a leader without a call in flight.
func (s *Script) kill(o *office) {
	c := int(o.leader)
	if o.deathDue == 0 || c == none || s.candidates[c].busy {
		return
	}
	s.candidates[c].dead = true
	o.vacate(false, o.deathDue, s.now)
	o.died, o.dead, o.until, o.deathDue = true, int32(c), s.lives[c], 0 // #nosec G115 -- at most maxCandidates
	s.deaths.orphaned.Due++
	if o.until > 0 {
		s.deaths.behind.Due++
	}
}

// updateDeadSession updates the time until which a dead candidate's session lives at least, because
// a keep-alive was in flight at the death; 0: the session is gone.
func (s *Script) updateDeadSession(c int, until int64) {
	o := s.officeOf(c)
	if !o.vacant || !o.died || int(o.dead) != c {
		return
	}
	switch {
	case o.until == 0 && until > 0:
		s.deaths.behind.Due++
	case o.until > 0 && until == 0:
		s.deaths.behind.Due--
	}
	o.until = until
}

// doubtSession discards the time until which a dead leader's session lives, if the session belongs
// to a connection and may have ended earlier. There are two such cases:
//   - The connection was lost before that time, and so was that of a living candidate since the
//     death. A member without a leader answers pings of which the other members do not learn,
//     until it drops its clients. A session that is resumed elsewhere also gets a new timeout.
//   - A candidate leads before that time, and the session may have expired unnoticed (mustLive).
func (s *Script) doubtSession(o *office) {
	if s.leases != nil || !o.died || !o.vacant {
		return
	}
	if o.cut && s.broke >= o.since || s.now < o.until && !s.mustLive(int(o.dead)) {
		s.updateDeadSession(int(o.dead), 0)
	}
}

// endFailover counts the end of a failover, at a time, after the office was without a leader for
// some nanoseconds. The dead leader returns ComesBack later.
func (s *Script) endFailover(o *office, at, without int64) {
	d := &s.deaths
	d.failover.Ended(kv.OK, max(at-o.due, 0), without)
	d.orphaned.Ended(kv.OK, without, without)
	if o.until > 0 {
		late := max(at-o.until, 0)
		d.behind.Ended(kv.OK, late, late)
	}
	s.candidates[o.dead].due = s.now + int64(ComesBack)
	d.returning.push(o.dead)
}

// reviveCandidate lets a dead candidate stand again, as a new one with a new session. The engine
// has replaced its connections where the store has closed them.
func (s *Script) reviveCandidate(c int) {
	k := &s.candidates[c]
	*k = candidate{entered: true, watches: k.watches}
	if s.leases != nil {
		s.leases[c] = 0
	}
	s.lives[c], s.renewing[c] = 0, 0
	s.want(c, Stand, false)
}
