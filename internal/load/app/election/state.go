package election

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Script is a load of elections.
type Script struct {
	app.ScriptBase
	app.ModelBase
	Config
	schedule *Schedule
	way      *Way
	recipe   recipe
	prefix   string
	calls    app.Tally
	// handover is from when a leader was to resign until the next knew that it leads, and
	// vacant from when one had ceased to lead, which is when its resignation was sent.
	handover, vacant measure.Calls
	deaths           deaths

	candidates []candidate
	leases     []int64 // by candidate; nil: sessions are those of connections
	renewing   []int64 // by candidate: when the oldest renewal was sent that is not answered; 0: there is none
	lives      []int64 // by candidate: until when its session lives at least; 0: not known yet
	life       int64   // of a session or lease that is not kept alive; 0: its connection does that
	beats      beats
	offices    []office
	resigns    []int32 // by entry of the schedule: the candidate that resigns; nobody: not known yet
	todo       todo

	now    int64  // since the window opened
	won    int    // who has come to lead by the answer that is being looked at; nobody
	over   int    // who led then, and cannot have ceased to; nobody
	wonDue int64  // since when the call was due
	till   int64  // until when the last handovers are awaited; 0: not yet
	broke  int64  // when the connection of one that lives was lost at last
	wrongs uint64 // answers by which two led at once
	judged bool   // the answer that is being looked at was wrong
	run    uint32 // by which candidates know what is not of an earlier run

	prompted uint64     // calls
	written  uint32     // names in values that say which of all they are
	records  *chronicle // nil: nobody checks the answers
	back     *readBack  // that lists the offices after the load; nil: they are not listed
}

// nobody is no candidate.
const nobody = -1

// candidate is what one knows.
type candidate struct {
	call    Call   // that is under way, or is made next
	busy    bool   // there is one
	entered bool   // it has stood for the first time
	settled bool   // and has led, or waited, since
	queued  bool   // it is in todo
	lost    bool   // its connection was lost, or replaced, while a call was under way on it
	missed  bool   // what it was to wait for was not there
	news    bool   // it was told of something while a call was under way
	due     int64  // since when its call is due, if it was prompted
	own     int64  // its number in the queue, or the token of its hold; 0: none
	before  int64  // the number of who is before it
	ahead   int32  // who that is
	run     uint32 // of which run
	from    int64  // the revision from which it watches
	watches bool   // it has a watcher
	then    Call   // what it does when that has ended; Drop: nothing
	dead    bool   // it sends nothing any more, and takes nothing in
	sent    int64  // when its call was
	wrote   int64  // when the newest was that a majority has answered
	owes    int64  // since when a resignation is due that was planned and is not sent yet; 0: none is
	asks    asked  // what its call, or the last that it made, names, where calls are recorded
}

// asked is what a call names. By its end its candidate has learned something newer.
type asked struct {
	lease, own, before, from int64
	leads                    bool
	run                      uint32 // of whom it waits for
	wrote                    uint32 // which of all names that were written it writes
}

func (s *Script) asking(c int) asked {
	k := &s.candidates[c]
	a := asked{own: k.own, before: k.before, from: k.from, leads: s.leader(c), run: k.run, wrote: s.written}
	if s.leases != nil {
		a.lease = s.leases[c]
	}
	return a
}

// office is what all candidates for one know together.
type office struct {
	leader  int32 // who takes itself for the leader; nobody
	fenced  int32 // whose that token is
	token   int64 // the highest with which anybody came to lead
	vacant  bool  // nobody leads, after somebody did
	planned bool  // because the leader was to resign
	due     int64 // when it was to
	since   int64 // when it ceased to lead

	died     bool  // or because the leader died
	dead     int32 // who that was
	until    int64 // until when the session of who died lives at least; 0: not known
	cut      bool  // its connection was lost before
	deathDue int64 // when the leader was to die that has not yet, because there is none or it has a call under way; 0: none is to
}

func (s *Script) officeOf(c int) *office { return &s.offices[c/s.Candidates] }

// want has a candidate make a call, now or later.
func (s *Script) want(c int, call Call, later bool) {
	k := &s.candidates[c]
	k.call, k.busy, k.due = call, true, s.now
	if later {
		k.due += int64(s.way.Pause)
	}
	if k.queued {
		return
	}
	k.queued = true
	s.todo.add(int32(c), later) // #nosec G115 -- at most maxCandidates
}

// untold is a token that the answer by which a candidate knows that it leads does not have.
const untold = -1

// fence holds a leader's token to those before: it is above them, or its own.
func (s *Script) fence(c int, token int64) (wrong []byte) {
	o := s.officeOf(c)
	if token <= o.token && (token < o.token || int(o.fenced) != c) {
		return tokenBack
	}
	o.token, o.fenced = token, int32(c) // #nosec G115 -- at most maxCandidates
	return nil
}

// leads notes that a candidate knows, by the answer that is being looked at, that it
// leads, with a fencing token: the store's own number of when it came to be the one. It
// says what is wrong if another takes itself for the leader, who would have had to resign
// or to know that its connection was lost or its lease at its end, or if the token is not
// above all before. A candidate whose own lease may have ended since, and its key with it,
// does not know anything by the answer: it renews the lease first, and stands again.
func (s *Script) leads(c int, token int64) (wrong []byte) {
	o := s.officeOf(c)
	another := o.leader >= 0 && int(o.leader) != c
	if s.leases != nil {
		if lives := s.lives[c]; s.leases[c] == 0 || lives < s.now && (lives != 0 || another && s.lives[o.leader] >= s.now) {
			s.want(c, Renew, false)
			return nil
		}
	}
	s.doubt(o)
	if another && !s.sure(int(o.leader)) {
		s.overlooked(o)
		another = false
	}
	switch {
	case o.vacant && o.died && s.now < o.until:
		wrong = deadLives
	case another && s.leases != nil && s.lives[o.leader] < s.now:
		s.outlived(o)
	case another:
		wrong, s.over = twoLead, int(o.leader)
	case token != untold:
		wrong = s.fence(c, token)
	}
	if wrong != nil {
		s.wrongs++
	}
	o.leader = int32(c) // #nosec G115 -- at most maxCandidates
	s.won, s.wonDue = c, s.candidates[c].due
	return wrong
}

var (
	twoLead   = []byte("two lead one office at once: a candidate was told that it leads, and the leader before it has not resigned")
	deadLives = []byte("two lead one office at once: a candidate was told that it leads, and the session of the leader before it, which sends nothing any more, cannot have ended yet")
	tokenBack = []byte("the fencing token of a new leader is not above that of one before it")
)

// ceases notes that a leader does not lead any more: it resigns, as it was to at a time,
// or has lost its connection.
func (s *Script) ceases(c int, planned bool, due int64) {
	o := s.officeOf(c)
	if int(o.leader) != c {
		return
	}
	o.vacate(planned, due, s.now)
	s.vacant.Due++
}

// vacate has nobody lead an office from a time on, because the leader was to resign at
// another, or was lost.
func (o *office) vacate(planned bool, due, now int64) {
	o.leader, o.vacant, o.planned, o.died, o.cut, o.due, o.since = nobody, true, planned, false, false, due, now
}

// outlived notes that a leader's lease may have ended: since its earliest end nobody leads.
// If that is not known, neither is for how long, and it is not counted.
func (s *Script) outlived(o *office) {
	old := int(o.leader)
	if s.lives[old] == 0 {
		o.leader = nobody
		return
	}
	s.ceases(old, false, s.now)
	o.since = s.lives[old]
}

// sure reports whether the session of a candidate's connection, which is not lost, cannot
// have ended. A member that is cut off from the others answers pings alone, until it drops
// its clients. Sessions that live for longer than that, behind the newest ping of which the
// others must have heard, have not ended by then; of shorter ones it is sure only as long
// behind what a majority has answered.
func (s *Script) sure(c int) bool {
	if s.leases != nil || s.life == 0 {
		return true
	}
	heard, alone := s.life-s.beats.every, int64(s.way.Alone)
	return heard >= alone || s.now < s.candidates[c].wrote+heard-int64(time.Second)
}

// overlooked notes that a leader's session may have ended without its knowing: it looks.
func (s *Script) overlooked(o *office) {
	old := int(o.leader)
	o.leader = nobody
	if !s.candidates[old].busy {
		s.want(old, s.recipe.again(s, old, Await), false)
	}
}

// plans notes that a resignation that was planned is handed to the connection. If the
// leader does not lead any more since it was to resign, whoever leads next ends the
// handover; if somebody does already, it has ended.
func (s *Script) plans(c int, due int64) {
	o := s.officeOf(c)
	switch {
	case int(o.leader) == c:
		s.ceases(c, true, due)
	case o.vacant && !o.planned && !o.died:
		o.planned, o.due = true, due
	default:
		s.handover.Ended(kv.OK, max(s.now-due, 0), 0)
	}
}

// took counts how long it was until a candidate knew that it leads.
func (s *Script) took(c int, at int64) {
	o := s.officeOf(c)
	if !o.vacant {
		return
	}
	o.vacant = false
	without := max(at-o.since, 0)
	if o.died {
		s.succeeded(o, at, without)
		return
	}
	s.vacant.Ended(kv.OK, without, without)
	if o.planned {
		s.handover.Ended(kv.OK, max(at-o.due, 0), without)
	}
}

// leader reports whether a candidate takes itself for the leader.
func (s *Script) leader(c int) bool { return int(s.officeOf(c).leader) == c }
