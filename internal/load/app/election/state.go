package election

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Script is a load of elections. It implements app.Script and app.Model.
type Script struct {
	app.ScriptBase
	app.ModelBase
	Config
	schedule *Schedule
	way      *Way
	recipe   recipe
	prefix   string
	calls    app.Tally
	// handover is the time from when a leader was due to resign until the next leader knows that
	// it leads. vacant is the time from when a leader ceased to lead, by sending its resignation or
	// otherwise, until then.
	handover, vacant measure.Calls
	deaths           deaths

	candidates []candidate
	leases     []int64 // by candidate; nil: sessions belong to connections
	renewing   []int64 // by candidate: when the oldest renewal without a response was sent; 0: none
	lives      []int64 // by candidate: its session lives at least until then; 0: unknown
	life       int64   // time until a session or lease expires that is not kept alive; 0: its connection does that
	beats      beats
	offices    []office
	resigns    []int32 // by entry of the schedule: the candidate that resigns, or none if it is not known yet
	todo       todo

	now    int64  // nanoseconds since the window opened
	won    int    // the candidate that became leader by the current response, or none
	over   int    // the leader before it, if that one cannot have ceased to lead, or none
	wonDue int64  // when the call of the current response was due
	till   int64  // when the wait for the last handovers ends; 0: it has not begun
	broke  int64  // when a living candidate's connection was lost most recently
	wrongs uint64 // responses that named a second leader, or a fencing token that is too low
	judged bool   // the current response was wrong
	run    uint32 // a random number that distinguishes this run's names from an earlier run's

	prompted uint64     // number of prompted calls
	written  uint32     // number of names written, where each name identifies its write
	records  *chronicle // nil: the responses are not verified
	back     *readBack  // lists the offices after the load; nil: they are not listed
}

// none stands for no candidate.
const none = -1

// candidate holds a candidate's state, most of which it has learned from responses.
type candidate struct {
	call    Call      // the call that is due or in flight
	busy    bool      // call is due or in flight
	entered bool      // it has made its first call
	settled bool      // it has led or waited since its first call
	queued  bool      // it is in Script.todo
	lost    bool      // its connection was lost or replaced while a call was in flight on it
	missed  bool      // the node that it wanted to watch did not exist
	news    bool      // an event arrived while a call was in flight
	due     int64     // when its prompted call became due
	own     int64     // its number in the queue, or the token of its hold; 0: none
	before  int64     // the number of the candidate before it in the queue
	ahead   int32     // that candidate
	run     uint32    // the run of that candidate
	from    int64     // the revision at which its watch starts
	watches bool      // it has a watcher
	then    Call      // the call after the end of its watcher; Drop: none
	dead    bool      // it sends nothing and ignores responses and events
	sent    int64     // when its call was sent
	wrote   int64     // when its newest acknowledged write was sent
	owes    int64     // when a planned resignation became due that is not sent yet; 0: none
	asks    callState // what its current or latest call was made from, if a history is recorded
}

// callState holds the state that a call was made from. The candidate may have newer state by the
// time the call ends.
type callState struct {
	lease, own, before, from int64
	leads                    bool
	run                      uint32 // the run of the candidate that it waits for
	wrote                    uint32 // the number of the name that it writes, counted over all names
}

func (s *Script) stateOf(c int) callState {
	k := &s.candidates[c]
	a := callState{own: k.own, before: k.before, from: k.from, leads: s.isLeader(c), run: k.run, wrote: s.written}
	if s.leases != nil {
		a.lease = s.leases[c]
	}
	return a
}

// office holds what all candidates for an office have learned.
type office struct {
	leader  int32 // the candidate that believes it leads, or none
	fenced  int32 // the candidate with that token
	token   int64 // the highest fencing token with which a candidate became leader
	vacant  bool  // it has no leader after it had one
	planned bool  // it has no leader because a resignation was due
	due     int64 // when the resignation or death was due
	since   int64 // when the last leader ceased to lead

	died     bool  // it has no leader because the leader died
	dead     int32 // the dead leader
	until    int64 // the dead leader's session lives at least until then; 0: unknown
	cut      bool  // the dead leader's connection was lost before until
	deathDue int64 // when a death was due that waits for a leader without a call in flight; 0: none
}

func (s *Script) officeOf(c int) *office { return &s.offices[c/s.Candidates] }

// want makes call the candidate's next call, due now or after a pause.
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

// noToken stands for the token of a new leader whose response does not contain one.
const noToken = -1

// checkToken checks the token of a leader: it must be higher than every earlier token of the
// office, or the leader's own. It returns the text of a wrong response, or nil.
func (s *Script) checkToken(c int, token int64) (wrong []byte) {
	o := s.officeOf(c)
	if token <= o.token && (token < o.token || int(o.fenced) != c) {
		return tokenBack
	}
	o.token, o.fenced = token, int32(c) // #nosec G115 -- at most maxCandidates
	return nil
}

// becomeLeader notes that a candidate learned from the current response that it leads, with a
// fencing token by which the store numbers its leaders. It returns the text of a wrong response, or
// nil. The response is wrong if another candidate leads that has not resigned and cannot have lost
// its connection or lease, or if the token is not higher than all earlier ones. If the candidate's
// own lease, and with it its key, may have expired since, it ignores the response, renews the lease
// and stands again.
func (s *Script) becomeLeader(c int, token int64) (wrong []byte) {
	o := s.officeOf(c)
	another := o.leader >= 0 && int(o.leader) != c
	if s.leases != nil {
		if lives := s.lives[c]; s.leases[c] == 0 || lives < s.now && (lives != 0 || another && s.lives[o.leader] >= s.now) {
			s.want(c, Renew, false)
			return nil
		}
	}
	s.doubtSession(o)
	if another && !s.mustLive(int(o.leader)) {
		s.recheckLeader(o)
		another = false
	}
	switch {
	case o.vacant && o.died && s.now < o.until:
		wrong = deadLives
	case another && s.leases != nil && s.lives[o.leader] < s.now:
		s.expireLeader(o)
	case another:
		wrong, s.over = twoLead, int(o.leader)
	case token != noToken:
		wrong = s.checkToken(c, token)
	}
	if wrong != nil {
		s.wrongs++
	}
	o.leader = int32(c) // #nosec G115 -- at most maxCandidates
	s.won, s.wonDue = c, s.candidates[c].due
	return wrong
}

var (
	twoLead   = []byte("the store named a new leader of an office before the previous leader resigned")
	deadLives = []byte("the store named a new leader of an office before the session of the previous leader, which sends nothing any more, can have ended")
	tokenBack = []byte("the fencing token of a new leader is not higher than that of an earlier one")
)

// stepDown notes that a candidate, if it led, does not lead any more because it resigns, which was
// due at a time, or has lost its connection or lease.
func (s *Script) stepDown(c int, planned bool, due int64) {
	o := s.officeOf(c)
	if int(o.leader) != c {
		return
	}
	o.vacate(planned, due, s.now)
	s.vacant.Due++
}

// vacate leaves an office without a leader as of now, because the leader resigned, which was due
// at a time, or was lost.
func (o *office) vacate(planned bool, due, now int64) {
	o.leader, o.vacant, o.planned, o.died, o.cut, o.due, o.since = none, true, planned, false, false, due, now
}

// expireLeader notes that a leader's lease may have expired: the office has no leader since the
// lease's earliest end. If that time is unknown, the vacancy is not counted.
func (s *Script) expireLeader(o *office) {
	old := int(o.leader)
	if s.lives[old] == 0 {
		o.leader = none
		return
	}
	s.stepDown(old, false, s.now)
	o.since = s.lives[old]
}

// mustLive reports whether the session of a candidate's connection, which is not lost, must still
// live. A member that is cut off from the others keeps answering pings until it drops its clients,
// while the session's timeout runs from the newest ping that the other members learned of. A
// timeout that is longer than this has not expired. A shorter one has not expired only if it covers
// the time since the newest write that a majority acknowledged.
func (s *Script) mustLive(c int) bool {
	if s.leases != nil || s.life == 0 {
		return true
	}
	heard, alone := s.life-s.beats.every, int64(s.way.Alone)
	return heard >= alone || s.now < s.candidates[c].wrote+heard-int64(time.Second)
}

// recheckLeader notes that a leader's session may have ended without its knowledge, and lets it
// look.
func (s *Script) recheckLeader(o *office) {
	old := int(o.leader)
	o.leader = none
	if !s.candidates[old].busy {
		s.want(old, s.recipe.retryCall(s, old, Await), false)
	}
}

// beginHandover notes that a planned resignation is about to be sent. If the leader lost the office
// after the resignation was due, the next leader ends the handover; if there is one already, the
// handover has ended.
func (s *Script) beginHandover(c int, due int64) {
	o := s.officeOf(c)
	switch {
	case int(o.leader) == c:
		s.stepDown(c, true, due)
	case o.vacant && !o.planned && !o.died:
		o.planned, o.due = true, due
	default:
		s.handover.Ended(kv.OK, max(s.now-due, 0), 0)
	}
}

// countVacancy counts the time until a candidate knew that it leads.
func (s *Script) countVacancy(c int, at int64) {
	o := s.officeOf(c)
	if !o.vacant {
		return
	}
	o.vacant = false
	without := max(at-o.since, 0)
	if o.died {
		s.endFailover(o, at, without)
		return
	}
	s.vacant.Ended(kv.OK, without, without)
	if o.planned {
		s.handover.Ended(kv.OK, max(at-o.due, 0), without)
	}
}

// isLeader reports whether a candidate believes that it leads.
func (s *Script) isLeader(c int) bool { return int(s.officeOf(c).leader) == c }
