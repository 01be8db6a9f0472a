// Package null is shared by the null servers of all protocols. A null server has
// no store. It measures the load generator itself and provides known results for
// its accuracy tests. A script decides when each operation is answered, and which
// ones get a wrong response, an error, or no response; a schedule delivers
// delayed responses with a precision of some 50 µs; a Space holds the keys of a
// null cluster.
//
// A Script has no clock. Its decision about an operation is a pure function of
// the operation's number and arrival time, so that a test can compute the results
// that a load generator must measure.
package null

import (
	"math"
	"sync/atomic"
	"time"
)

// Kind is what happens to an operation when its response is due.
type Kind uint8

// Kinds. The server executes the operation first, except for Error and Reset, so
// a write whose response is lost has been executed.
const (
	Answer      Kind = iota // the right response
	Error                   // an error; its name is in Action.Name
	Never                   // no response, and the connection stays open
	Close                   // the connection is closed instead
	WrongKey                // a read returns another key
	WrongValue              // a read returns a damaged value
	Half                    // the first half of the response, then the connection is closed
	HugeFrame               // a frame whose length exceeds every limit
	HugeMessage             // a message with a length of 4 GiB
	Reset                   // only this request is cancelled; the reason is in Action.Name

	// Plausible but wrong responses, for testing the verification of a store's
	// guarantees. A server without support for a kind sends the right response.
	LieLost    // a write is acknowledged but not executed
	LieTwice   // a write is executed twice
	LieAbsent  // a read does not find an existing key
	LieBehind  // the response's revision is LieDistance too low
	LieCAS     // a transaction is executed although its comparisons do not hold
	LieLease   // a renewed lease has expired
	LieOutlive // a key outlives the session that it is bound to
)

// LieDistance is by how many revisions LieBehind is wrong.
const LieDistance = 1000

// ResponseRevision returns the revision that a response contains.
func ResponseRevision(revision int64, k Kind) int64 {
	if k == LieBehind {
		return max(revision-LieDistance, 1)
	}
	return revision
}

// Answered reports whether the operation gets a right or wrong response when it
// is due.
func (k Kind) Answered() bool {
	return k == Answer || k == WrongKey || k == WrongValue || k >= LieLost
}

// Mode is how the server treats whole connections.
type Mode uint8

// Modes.
const (
	NormalMode Mode = iota // the protocol, correctly
	Garbage                // random bytes instead of the protocol
	HTTP1                  // a page in HTTP/1.1 instead of the protocol
	Silent                 // nothing: connections are only accepted
)

// Distribution is the distribution of a delay over operations.
type Distribution uint8

// Distributions.
const (
	Fixed       Distribution = iota // always Low
	Uniform                         // from Low to High, all equally likely
	Exponential                     // with the mean Low: most are short and a few are long
)

// Delay is the time between an operation's arrival and its response.
type Delay struct {
	Distribution Distribution
	Low, High    time.Duration // High is used only by Uniform
	Every        uint64        // applies to every Every-th operation; 1 for all
	Member       int           // applies to this member's operations, counted from 1; 0 for all members
}

// Rule gives every Every-th operation the same fate.
type Rule struct {
	Kind  Kind
	Name  string // of Error and Reset
	Every uint64 // from 1
}

// EventFault is what happens to a watch event.
type EventFault uint8

// Faults of watch events.
const (
	NoFault   EventFault = iota // none
	Lose                        // the event is not sent
	Duplicate                   // the event is sent twice
	Reorder                     // the event is sent after its watcher's next event, if there is one
	Postpone                    // the event is sent later
	Invent                      // the event is followed by one that no write caused
)

// EventRule gives every Every-th watch event the same fate. Events are counted
// over all watchers: a write with ten watchers counts ten times.
type EventRule struct {
	Fault EventFault
	By    time.Duration // of Postpone
	Every uint64        // from 1
}

// Stall is a period without responses.
type Stall struct {
	Start  time.Duration // since the first operation
	Length time.Duration
}

// Script is the behavior of a null server. With the zero Script it responds to
// everything at once. All times count from the arrival of the first operation.
type Script struct {
	Mode   Mode
	Seed   uint64          // of the random delays and of Garbage
	Delays []Delay         // the last one that applies to an operation is used
	Stalls []Stall         // in order of Start
	Rules  []Rule          // the first one that applies to an operation is used
	Events []EventRule     // for watch events, used like Rules
	Closes []time.Duration // when all open connections are closed; ascending
	GoAway uint64          // requests that a connection accepts; 0 for no limit
	Chunk  int             // maximum bytes per write; 0 for no limit
	Pause  time.Duration   // between chunks
	// Lag is by how much the local reads of all members except the first lag;
	// NoLocal makes local reads fail. Not every protocol's server supports them.
	Lag     time.Duration
	NoLocal bool
}

// Action is what happens to an operation, and when.
type Action struct {
	Kind Kind
	Name string        // of Error and Reset
	At   time.Duration // time of the action since the first operation; not before the operation's arrival
}

// Decide returns the action for operation n, counted from 1, that arrived at a
// member, counted from 1, at the given time after the first operation.
//
// A response that would be due during a stall is delayed until the stall's end.
// With 1,000 operations per second for 10 s and stall=1s@4s, the 1,000 operations
// of the fifth second wait 5 s − arrival, from 1 s down to nothing. The other
// 9,000 of 10,000 take no time, and of the slowest tenth half wait more than 0.5
// s and a tenth more than 0.9 s: p95 is 0.5 s and p99 is 0.9 s.
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

// DecideEvent returns the fault of the n-th watch event, counted from 1, and its
// delay.
func (s *Script) DecideEvent(n uint64) (EventFault, time.Duration) {
	for i := range s.Events {
		if r := &s.Events[i]; n%r.Every == 0 {
			return r.Fault, r.By
		}
	}
	return NoFault, 0
}

// Immediate reports whether every operation gets the right response without delay,
// so that the server need not call Decide.
func (s *Script) Immediate() bool {
	return len(s.Delays) == 0 && len(s.Stalls) == 0 && len(s.Rules) == 0 && len(s.Closes) == 0
}

// delay returns the delay of operation n at a member.
func (s *Script) delay(n uint64, member int) time.Duration {
	for i := len(s.Delays) - 1; i >= 0; i-- {
		if d := &s.Delays[i]; n%d.Every == 0 && (d.Member == 0 || d.Member == member) {
			return d.draw(s.Seed, n)
		}
	}
	return 0
}

// draw draws the delay of operation n by inverting the distribution function at a
// number that depends only on seed and n.
func (d *Delay) draw(seed, n uint64) time.Duration {
	switch d.Distribution {
	case Uniform:
		return d.Low + time.Duration(unit(seed, n)*float64(d.High-d.Low))
	case Exponential:
		return time.Duration(-math.Log(1-unit(seed, n)) * float64(d.Low))
	}
	return d.Low
}

// unit returns a number in [0, 1) that is uniform over n: the n-th output of
// SplitMix64 (Steele, Lea and Flood 2014) with a scrambled seed. Unlike a
// generator with state it can be evaluated for any n.
func unit(seed, n uint64) float64 {
	return float64(scramble(scramble(seed)+n*0x9e3779b97f4a7c15)>>11) / (1 << 53)
}

func scramble(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Run is the execution of a script: it numbers the operations and records the
// arrival of the first one. The members of a null cluster share a Run. It is safe
// for concurrent use.
type Run struct {
	script *Script
	count  atomic.Uint64
	start  atomic.Int64 // 1 + the first operation's arrival; 0 before it
}

// NewRun starts the execution of a script.
func NewRun(s *Script) *Run { return &Run{script: s} }

// Arrive numbers an operation that arrived at a member, counted from 1, and
// decides about it. now is in nanoseconds of any clock that starts at 0 or above.
// due is Action.At on that clock. first is true for the first operation, at which
// all times start.
func (r *Run) Arrive(now int64, member int) (a Action, due int64, first bool) {
	n := r.count.Add(1)
	start := r.start.Load()
	if start == 0 {
		r.start.CompareAndSwap(0, now+1)
		start = r.start.Load()
	}
	start--
	// Another goroutine's operation may have set start although it read the clock
	// later.
	a = r.script.Decide(n, member, time.Duration(max(now-start, 0)))
	return a, start + int64(a.At), n == 1
}
