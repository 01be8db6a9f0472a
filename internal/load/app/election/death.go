package election

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// deaths schedules the deaths of leaders and measures the failovers that follow. A dead leader
// sends nothing, not even keep-alives. The other candidates notice its death only when its session
// expires.
type deaths struct {
	at    int64 // when the chosen leaders die; 0: no leader dies, or they have already died
	due   int64 // initial value of at
	count int   // number of offices whose leaders die; these are the first offices
	// These time spans end when the next leader learns that it is leader. failover begins when the
	// old leader was due to die, and orphaned when it actually died. behind begins at the earliest
	// time at which the old leader's session could have ended.
	failover, orphaned, behind measure.Calls
	returning                  ring // dead candidates, in the order in which they return
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

// appendTo appends the measured time spans to `all`.
func (d *deaths) appendTo(all []measure.Calls) []measure.Calls {
	for _, span := range []*measure.Calls{&d.failover, &d.orphaned, &d.behind} {
		if span.Due > 0 {
			all = append(all, *span)
		}
	}
	return all
}

// next returns the time at which the next candidate dies or returns.
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

// kill executes the pending death of an office's leader, unless the office has no leader or its
// leader has a call in flight.
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

// updateDeadSession sets the time until which a dead candidate's session is known to be alive. This
// time can still change after the death if a keep-alive was in flight when the candidate died. The
// parameter `until` is 0 if the session has ended or if nothing is known.
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

// doubtSession discards the time until which a dead leader's session is known to be alive, if the
// session belongs to a connection and may have ended before that time. This is so in two cases:
//   - The dead leader's connection was lost before that time, and a living candidate's connection
//     was lost after the death. The contacted member may have had no leader. Such a member responds
//     to pings until it drops its clients, and the other members do not learn of these pings. Also,
//     a session that is resumed on another member gets a new timeout.
//   - Another candidate became leader before that time, and the session may have expired unnoticed
//     (mustLive).
func (s *Script) doubtSession(o *office) {
	if s.leases != nil || !o.died || !o.vacant {
		return
	}
	if o.cut && s.broke >= o.since || s.now < o.until && !s.mustLive(int(o.dead)) {
		s.updateDeadSession(int(o.dead), 0)
	}
}

// endFailover counts a failover that ended at time `at`, after the office had no leader for
// `without` nanoseconds. The dead leader returns after ComesBack.
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

// reviveCandidate lets a dead candidate stand again, as a new candidate with a new session. If the
// store has closed a connection of the candidate, the engine has replaced it by then.
func (s *Script) reviveCandidate(c int) {
	k := &s.candidates[c]
	*k = candidate{entered: true, watches: k.watches}
	if s.leases != nil {
		s.leases[c] = 0
	}
	s.lives[c], s.renewing[c] = 0, 0
	s.want(c, Stand, false)
}
