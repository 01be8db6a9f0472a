package election

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// leaderDeaths schedules the deaths of leaders and measures the failovers that follow. A dead
// leader sends nothing, not even keep-alives. The other candidates notice its death only when its
// session expires.
type leaderDeaths struct {
	pendingDue int64 // when the chosen leaders die; 0: no leader dies, or they have already died
	deathDue   int64 // initial value of pendingDue
	count      int   // number of offices whose leaders die; these offices have the lowest numbers
	// These time spans end when the next leader learns that it is leader. failover begins when the
	// old leader was due to die. noLeaderAfterDeath begins when the old leader actually died.
	// noLeaderAfterExpiry begins at the earliest time at which the old leader's session could have
	// ended.
	failover, noLeaderAfterDeath, noLeaderAfterExpiry measure.Calls
	returning                                         ring // dead candidates, in the order in which they return
}

func newLeaderDeaths(c *Config, deathTime time.Duration) leaderDeaths {
	d := leaderDeaths{pendingDue: int64(deathTime), deathDue: int64(deathTime)}
	if deathTime == 0 {
		return d
	}
	d.count, d.returning = c.LeaderFailures, ring{items: make([]int32, c.LeaderFailures)}
	span := func(name string) measure.Calls {
		calls := measure.NewCalls(name, kv.Delete, kv.NoConsistency)
		calls.IsSpan = true
		return calls
	}
	d.failover, d.noLeaderAfterDeath, d.noLeaderAfterExpiry = span(measure.Failover), span("no leader after a death"), span("no leader after expiry")
	d.failover.Due = uint64(c.LeaderFailures) // #nosec G115 -- a count
	return d
}

// appendTo appends the measured time spans to `all`.
func (d *leaderDeaths) appendTo(all []measure.Calls) []measure.Calls {
	for _, span := range []*measure.Calls{&d.failover, &d.noLeaderAfterDeath, &d.noLeaderAfterExpiry} {
		if span.Due > 0 {
			all = append(all, *span)
		}
	}
	return all
}

// nextTime returns the time at which the next candidate dies or returns.
func (d *leaderDeaths) nextTime(candidates []candidate) int64 {
	at := int64(math.MaxInt64)
	if d.pendingDue > 0 {
		at = d.pendingDue
	}
	if d.returning.n > 0 {
		at = min(at, candidates[d.returning.items[d.returning.first]].due)
	}
	return at
}

// dieAndReturn executes all due deaths of leaders, and the due returns of dead leaders.
func (s *Script) dieAndReturn() {
	d := &s.deaths
	if d.pendingDue > 0 && s.now >= d.pendingDue {
		d.pendingDue = 0
		for i := range d.count {
			s.offices[i].deathDue = d.deathDue
			s.kill(&s.offices[i])
		}
	}
	for d.returning.n > 0 && s.candidates[d.returning.items[d.returning.first]].due <= s.now {
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
	o.leaderDied, o.deadLeader, o.sessionAliveUntil, o.deathDue = true, int32(c), s.aliveUntil[c], 0 // #nosec G115 -- at most maxCandidates
	s.deaths.noLeaderAfterDeath.Due++
	if o.sessionAliveUntil > 0 {
		s.deaths.noLeaderAfterExpiry.Due++
	}
}

// updateDeadSession sets the time until which a dead candidate's session is known to be alive. This
// time can still change after the death if a keep-alive was in flight when the candidate died. The
// parameter `aliveUntil` is 0 if the session has ended or if nothing is known.
func (s *Script) updateDeadSession(c int, aliveUntil int64) {
	o := s.officeOf(c)
	if !o.vacant || !o.leaderDied || int(o.deadLeader) != c {
		return
	}
	switch {
	case o.sessionAliveUntil == 0 && aliveUntil > 0:
		s.deaths.noLeaderAfterExpiry.Due++
	case o.sessionAliveUntil > 0 && aliveUntil == 0:
		s.deaths.noLeaderAfterExpiry.Due--
	}
	o.sessionAliveUntil = aliveUntil
}

// doubtSession discards the time until which a dead leader's session is known to be alive, if the
// session belongs to a connection and may have ended before that time. This is so in two cases:
//   - The dead leader's connection was lost before that time, and a living candidate's connection
//     was lost after the death. The contacted member may have had no leader. Such a member responds
//     to pings until it drops its clients, and the other members do not learn of these pings. Also,
//     a session that is resumed on another member gets a new timeout.
//   - Another candidate became leader before that time, and the session may have expired unnoticed
//     (see sessionMustBeAlive).
func (s *Script) doubtSession(o *office) {
	if s.leases != nil || !o.leaderDied || !o.vacant {
		return
	}
	if o.deadConnectionLost && s.lastConnectionLoss >= o.vacantSince || s.now < o.sessionAliveUntil && !s.sessionMustBeAlive(int(o.deadLeader)) {
		s.updateDeadSession(int(o.deadLeader), 0)
	}
}

// endFailover counts a failover that ended at time `at`, after the office had no leader for
// `vacancy` nanoseconds. The dead leader returns after ReturnDelay.
func (s *Script) endFailover(o *office, at, vacancy int64) {
	d := &s.deaths
	d.failover.CountEnded(kv.OK, max(at-o.lossDue, 0), vacancy)
	d.noLeaderAfterDeath.CountEnded(kv.OK, vacancy, vacancy)
	if o.sessionAliveUntil > 0 {
		late := max(at-o.sessionAliveUntil, 0)
		d.noLeaderAfterExpiry.CountEnded(kv.OK, late, late)
	}
	s.candidates[o.deadLeader].due = s.now + int64(ReturnDelay)
	d.returning.push(o.deadLeader)
}

// reviveCandidate lets a dead candidate stand for election again, as a new candidate with a new
// session. If the store has closed a connection of the candidate, the engine has already replaced
// that connection.
func (s *Script) reviveCandidate(c int) {
	k := &s.candidates[c]
	*k = candidate{hasCalled: true, hasWatcher: k.hasWatcher}
	if s.leases != nil {
		s.leases[c] = 0
	}
	s.aliveUntil[c], s.renewalSent[c] = 0, 0
	s.setNextCall(c, Stand, false)
}
