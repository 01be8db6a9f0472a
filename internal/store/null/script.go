// Package null is shared by the null servers of all protocols. A null server has no store: it
// is what the generator is calibrated against, and the ground truth of its accuracy tests. A
// script decides when each operation is answered, and which are answered wrongly, with an
// error, or not at all; a schedule wakes what is due to within some 50 µs; a Space holds the
// keys of a null cluster.
//
// A Script has no clock. What it does with an operation is a pure function of the operation's
// number and arrival time, so that a test can compute what a generator must have measured.
package null

import (
	"math"
	"sync/atomic"
	"time"
)

// Kind is what happens to an operation when its answer is due.
type Kind uint8

// The kinds. Everything but Error and Reset is carried out by the server
// before, so that a write whose answer is lost has happened.
const (
	Answer      Kind = iota // the right answer
	Error                   // an error; its name is in Action.Name
	Never                   // no answer, and the connection stays
	Close                   // the connection is closed instead
	WrongKey                // a read answers with another key
	WrongValue              // a read answers with a damaged value
	Half                    // the first half of the answer, then the connection is closed
	HugeFrame               // a frame that claims to be larger than any may be
	HugeMessage             // a message that claims to be 4 GiB long
	Reset                   // the request alone is cancelled; why is in Action.Name

	// Answers that look right and are not, for who checks a store's promises. Not
	// every protocol's server knows them: it then gives the right answer.
	LieLost    // a write is acknowledged, and not carried out
	LieTwice   // a write is carried out twice
	LieAbsent  // a read does not find what is there
	LieBehind  // the answer says that it is of the revision Behind before its own
	LieCAS     // a transaction is carried out whose comparisons do not hold
	LieLease   // a lease that is kept alive has ended
	LieOutlive // what is made with a session, which it is to end with, stays
)

// Behind is by how many revisions LieBehind is wrong.
const Behind = 1000

// Told is the revision that an answer says it is of.
func Told(revision int64, k Kind) int64 {
	if k == LieBehind {
		return max(revision-Behind, 1)
	}
	return revision
}

// Answered reports whether the operation is answered when it is due, be it wrongly.
func (k Kind) Answered() bool {
	return k == Answer || k == WrongKey || k == WrongValue || k >= LieLost
}

// Mode is how the server treats whole connections.
type Mode uint8

// The modes.
const (
	Speaks  Mode = iota // the protocol, as it should
	Garbage             // random bytes instead of the protocol
	HTTP1               // a page in HTTP/1.1 instead of the protocol
	Silent              // nothing: the connection is accepted and that is all
)

// Distribution is how a delay varies from operation to operation.
type Distribution uint8

// The distributions.
const (
	Fixed       Distribution = iota // always Low
	Uniform                         // from Low to High, all equally likely
	Exponential                     // with mean Low: most are short and a few are long
)

// Delay is how long after its arrival an operation is answered.
type Delay struct {
	Distribution Distribution
	Low, High    time.Duration // High is for Uniform alone
	Every        uint64        // it applies to every Every-th operation; 1 for all
	Member       int           // it applies to this member's operations, from 1; 0 for all members
}

// Rule gives every Every-th operation the same fate.
type Rule struct {
	Kind  Kind
	Name  string // of Error and Reset
	Every uint64 // from 1
}

// EventFault is what happens to a watch event.
type EventFault uint8

// The faults.
const (
	Sound     EventFault = iota // none
	Lose                        // it is not sent
	Duplicate                   // it is sent twice
	Reorder                     // it is sent behind the next event of its watcher, if one comes
	Postpone                    // it is sent later
	Invent                      // behind it another one is sent, of what nobody wrote
)

// EventRule gives every Every-th watch event the same fate. Events are counted
// over all watchers: a write with ten watchers is ten.
type EventRule struct {
	Fault EventFault
	By    time.Duration // of Postpone
	Every uint64        // from 1
}

// Stall is a span of time in which nothing is answered.
type Stall struct {
	Start  time.Duration // since the first operation
	Length time.Duration
}

// Script is what a null server does. The zero Script answers everything at
// once. All times count from the arrival of the first operation.
type Script struct {
	Mode   Mode
	Seed   uint64          // of the random delays and of Garbage
	Delays []Delay         // the last that applies to an operation counts
	Stalls []Stall         // by Start
	Rules  []Rule          // the first that applies to an operation counts
	Events []EventRule     // likewise, of watch events
	Closes []time.Duration // when every open connection is closed; ascending
	GoAway uint64          // requests that a connection takes; 0 for no limit
	Chunk  int             // most bytes written at once; 0 for no limit
	Pause  time.Duration   // between chunks
	// Lag is how far all members but the first are behind, as their local reads
	// show it; NoLocal refuses local reads. Not every protocol's server knows
	// them.
	Lag     time.Duration
	NoLocal bool
}

// Action is what happens to one operation, and when.
type Action struct {
	Kind Kind
	Name string        // of Error and Reset
	At   time.Duration // when it happens, since the first operation; never before the arrival
}

// Decide says what happens to operation n, counted from 1, that arrived at a
// member, from 1, at the given time after the first.
//
// An answer that would be due inside a stall is held until the stall's end.
// With 1,000 operations a second for 10 s and stall=1s@4s, those that arrive in
// the fifth second, 1,000 of 10,000, wait 5 s - arrival, from 1 s down to
// nothing. So 9,000 take no time, and of the slowest tenth half wait over
// 0.5 s and a tenth over 0.9 s: p95 is 0.5 s and p99 is 0.9 s.
func (s *Script) Decide(n uint64, member int, arrival time.Duration) Action {
	a := Action{At: arrival + s.delay(n, member)}
	for _, stall := range s.Stalls {
		if end := stall.Start + stall.Length; a.At >= stall.Start && a.At < end {
			a.At = end
		}
	}
	for i := range s.Rules {
		if r := &s.Rules[i]; n%r.Every == 0 {
			a.Kind, a.Name = r.Kind, r.Name
			break
		}
	}
	return a
}

// DecideEvent says what happens to the n-th watch event, counted from 1, and by
// how much it is late.
func (s *Script) DecideEvent(n uint64) (EventFault, time.Duration) {
	for i := range s.Events {
		if r := &s.Events[i]; n%r.Every == 0 {
			return r.Fault, r.By
		}
	}
	return Sound, 0
}

// AtOnce reports whether every operation gets the right answer without delay,
// so that a server need not ask.
func (s *Script) AtOnce() bool {
	return len(s.Delays) == 0 && len(s.Stalls) == 0 && len(s.Rules) == 0 && len(s.Closes) == 0
}

// delay is the delay of operation n at a member.
func (s *Script) delay(n uint64, member int) time.Duration {
	for i := len(s.Delays) - 1; i >= 0; i-- {
		if d := &s.Delays[i]; n%d.Every == 0 && (d.Member == 0 || d.Member == member) {
			return d.of(s.Seed, n)
		}
	}
	return 0
}

// of draws the delay of operation n by the inverse of the distribution
// function, from a number that depends on seed and n alone.
func (d *Delay) of(seed, n uint64) time.Duration {
	switch d.Distribution {
	case Uniform:
		return d.Low + time.Duration(unit(seed, n)*float64(d.High-d.Low))
	case Exponential:
		return time.Duration(-math.Log(1-unit(seed, n)) * float64(d.Low))
	}
	return d.Low
}

// unit is a number from 0 up to but not including 1, uniform over n: the n-th
// output of SplitMix64 (Steele, Lea and Flood 2014) begun at a scrambled seed,
// which unlike a generator with state can be asked for any n.
func unit(seed, n uint64) float64 {
	return float64(scramble(scramble(seed)+n*0x9e3779b97f4a7c15)>>11) / (1 << 53)
}

func scramble(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Run is one script being followed: it numbers the operations and knows when
// the first arrived. The members of one null cluster share a Run. It may be
// used by several goroutines at once.
type Run struct {
	script *Script
	count  atomic.Uint64
	start  atomic.Int64 // 1 + the first operation's arrival; 0 before it
}

// NewRun begins to follow a script.
func NewRun(s *Script) *Run { return &Run{script: s} }

// Arrive numbers an operation that arrived at a member, from 1, at now, in
// nanoseconds of any clock that starts at or above zero, and decides about it.
// due is Action.At in that clock. first is true for the first operation, from
// which all times count.
func (r *Run) Arrive(now int64, member int) (a Action, due int64, first bool) {
	n := r.count.Add(1)
	start := r.start.Load()
	if start == 0 {
		r.start.CompareAndSwap(0, now+1)
		start = r.start.Load()
	}
	start--
	// Another goroutine's operation, read a moment later, may have been first.
	a = r.script.Decide(n, member, time.Duration(max(now-start, 0)))
	return a, start + int64(a.At), n == 1
}
