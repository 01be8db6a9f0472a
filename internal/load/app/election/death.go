package election

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// deaths are those of leaders that die without a word: they send nothing any more, not
// even what keeps their sessions alive, and nobody is told but by the end of those.
type deaths struct {
	at    int64 // when they are to die, all at once; 0: nobody is, or they were told already
	due   int64 // when that was
	count int   // the first offices, whose leaders they are
	// failover is from when a leader was to die until the next knew that it leads, orphaned
	// from when it died, and behind from when its session may have ended at the earliest.
	failover, orphaned, behind measure.Calls
	returning                  ring // who comes back, and is due then
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
	d.failover, d.orphaned, d.behind = span(measure.Failover), span("nobody leads, of a death"), span("behind the session's life")
	d.failover.Due = uint64(c.Storm) // #nosec G115 -- a count
	return d
}

// appendTo appends the spans of time that there were.
func (d *deaths) appendTo(all []measure.Calls) []measure.Calls {
	for _, span := range []*measure.Calls{&d.failover, &d.orphaned, &d.behind} {
		if span.Due > 0 {
			all = append(all, *span)
		}
	}
	return all
}

// next is when somebody dies, or comes back, next.
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

// dieAndReturn has those die who are to by now, and those come back who are to.
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
		s.comeBack(int(d.returning.pop()))
	}
}

// kill has the leader of an office die that is to, as soon as there is one and it has no
// call under way.
func (s *Script) kill(o *office) {
	c := int(o.leader)
	if o.deathDue == 0 || c == nobody || s.candidates[c].busy {
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

// lived takes what is learned of the session of a candidate that has died: that it lives
// until a time at least, because what kept it alive was under way then; 0: that it is gone.
func (s *Script) lived(c int, until int64) {
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

// doubt forgets until when the session of one that has died lives, where that is a
// connection's, which was lost before, and others were lost, too; or where it may have ended
// before, as it has if somebody leads by now. A member that has lost the leader answers pings
// of which nobody else hears, until it drops its clients; and a session that was taken up
// again lives anew.
func (s *Script) doubt(o *office) {
	if s.leases != nil || !o.died || !o.vacant {
		return
	}
	if o.cut && s.broke >= o.since || s.now < o.until && !s.sure(int(o.dead)) {
		s.lived(int(o.dead), 0)
	}
}

// succeeded counts how long it was until a candidate leads in the place of one that has
// died, which comes back some time later.
func (s *Script) succeeded(o *office, at, without int64) {
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

// comeBack has a candidate stand that has died, as a new one with a session of its own. Of
// its connections the engine has made new ones, where the store has ended them.
func (s *Script) comeBack(c int) {
	k := &s.candidates[c]
	*k = candidate{entered: true, watches: k.watches}
	if s.leases != nil {
		s.leases[c] = 0
	}
	s.lives[c], s.renewing[c] = 0, 0
	s.want(c, Stand, false)
}
