// Package null contains what the null servers for all protocols share. A null server stores nothing
// on disk. It is used to measure the load generator itself, and accuracy tests use it because its
// true behavior is known. A script decides when the server answers each operation, and which
// operations get a wrong response, an error, or no response. A schedule delivers delayed responses
// with a precision of about 50 us. A Space holds the keys of a null cluster.
//
// A Script has no clock. Its decision about an operation depends only on the operation's number and
// arrival time. So a test can compute the results that a load generator must measure.
package null

import (
	"math"
	"sync/atomic"
	"time"
)

// Kind is what happens to an operation when its response is due.
type Kind uint8

// The values of Kind. The server executes the operation first, except for Error, Reset and LieLost.
// So if a write's response is lost, the write was still executed.
const (
	CorrectResponse Kind = iota // the correct response
	Error                       // an error response; the error is Action.Name
	Never                       // no response, and the connection stays open
	Close                       // the connection is closed without a response
	WrongKey                    // a read returns a different key
	WrongValue                  // a read returns a damaged value
	Half                        // half of the response, and then the connection is closed
	HugeFrame                   // a frame whose length exceeds every limit
	HugeMessage                 // a message with a length of 4 GiB
	Reset                       // only this request is canceled; the reason is Action.Name

	// The following responses are plausible but wrong. They test the verification of a store's
	// guarantees. A server that does not support a kind sends the correct response.
	LieLost        // a write is acknowledged but not executed
	LieTwice       // a write is executed two times
	LieAbsent      // a read does not find an existing key
	LieLowRevision // the revision in the response is LieDistance too low
	LieCAS         // a transaction is executed although its conditions do not hold
	LieLease       // a lease that was just renewed has expired
	LieOutlive     // a key outlives the session that it is bound to
)

// LieDistance is the amount by which LieLowRevision lowers the revision in a response.
const LieDistance = 1000

// ResponseRevision returns the revision to put into a response of kind k. The parameter `revision`
// is the true revision.
func ResponseRevision(revision int64, k Kind) int64 {
	if k == LieLowRevision {
		return max(revision-LieDistance, 1)
	}
	return revision
}

// Answered reports whether the operation gets a complete response, correct or wrong, when the
// response is due.
func (k Kind) Answered() bool {
	return k == CorrectResponse || k == WrongKey || k == WrongValue || k >= LieLost
}

// Mode is how the server treats connections as a whole.
type Mode uint8

// The modes.
const (
	NormalMode Mode = iota // the server speaks the protocol
	Garbage                // the server sends random bytes
	HTTP1                  // the server responds with a web page in HTTP/1.1
	Silent                 // the server accepts connections but sends nothing
)

// Distribution is the probability distribution of a delay.
type Distribution uint8

// The distributions.
const (
	Fixed       Distribution = iota // every delay is Low
	Uniform                         // uniform between Low and High
	Exponential                     // exponential with the mean Low
)

// Delay is the time between an operation's arrival and its response.
type Delay struct {
	Distribution Distribution
	Low, High    time.Duration // only Uniform uses High
	Every        uint64        // applies to every Every-th operation; 1 for all
	Member       int           // applies to this member, counted from 1; 0 for all
}

// Rule sets the Kind for every Every-th operation.
type Rule struct {
	Kind  Kind
	Name  string // error or reason, for Error and Reset
	Every uint64 // at least 1
}

// EventFault is what happens to a watch event.
type EventFault uint8

// Faults of watch events.
const (
	NoFault   EventFault = iota // none
	Lose                        // the event is not sent
	Duplicate                   // the event is sent twice
	Reorder                     // the event is sent after the watcher's next event, if there is one
	Postpone                    // the event is sent later
	Invent                      // the server also sends an event that no write caused
)

// EventRule sets the fault for every Every-th watch event. Events are counted over all watchers: a
// write that ten watchers see counts as ten events.
type EventRule struct {
	Fault EventFault
	Delay time.Duration // delay, for Postpone
	Every uint64        // at least 1
}

// Stall is a period in which the server sends no responses.
type Stall struct {
	Start  time.Duration // time after the first operation
	Length time.Duration
}

// Script is the behavior of a null server. With the zero Script, the server answers every request
// immediately. All times are measured from the arrival of the first operation.
type Script struct {
	Mode   Mode
	Seed   uint64          // for random delays and for Garbage
	Delays []Delay         // the last one that applies to an operation is used
	Stalls []Stall         // in order of Start
	Rules  []Rule          // the first one that applies to an operation is used
	Events []EventRule     // for watch events; the first one that applies is used
	Closes []time.Duration // times at which all open connections are closed; ascending
	GoAway uint64          // how many requests a connection accepts; 0 for no limit
	Chunk  int             // maximum bytes per write; 0 for no limit
	Pause  time.Duration   // pause between two chunks
	// Lag is the time by which local reads are stale at all members except the first. NoLocal
	// makes local reads fail. Some protocols' null servers do not support these two fields.
	Lag     time.Duration
	NoLocal bool
}

// Action is what happens to an operation, and when.
type Action struct {
	Kind Kind
	Name string        // error or reason, for Error and Reset
	At   time.Duration // time after the first operation; not before the operation's arrival
}

// Decide returns the action for operation n (counted from 1). The operation arrived at the given
// member (counted from 1). The parameter `arrival` is the time since the arrival of the first
// operation.
//
// If a response would be due during a stall, it is delayed until the end of the stall. Example:
// 1,000 operations per second arrive for 10 s, and the script is stall=1s@4s. Then the 1,000
// operations that arrive in the fifth second must wait until 5 s. Their waiting times decrease
// evenly from 1 s to 0. The other 9,000 operations do not wait. Half of the 1,000 wait more than
// 0.5 s, and a tenth of them more than 0.9 s. So p95 of all 10,000 operations is 0.5 s and p99 is
// 0.9 s.
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

// DecideEvent returns the fault of watch event n (counted from 1), and the event's delay.
func (s *Script) DecideEvent(n uint64) (EventFault, time.Duration) {
	for i := range s.Events {
		if r := &s.Events[i]; n%r.Every == 0 {
			return r.Fault, r.Delay
		}
	}
	return NoFault, 0
}

// Immediate reports whether every operation gets the correct response without delay, and no
// connection is closed. If so, the server need not call Decide.
func (s *Script) Immediate() bool {
	return len(s.Delays) == 0 && len(s.Stalls) == 0 && len(s.Rules) == 0 && len(s.Closes) == 0 && s.GoAway == 0
}

// delay returns the delay for operation n at a member.
func (s *Script) delay(n uint64, member int) time.Duration {
	for i := len(s.Delays) - 1; i >= 0; i-- {
		if d := &s.Delays[i]; n%d.Every == 0 && (d.Member == 0 || d.Member == member) {
			return d.draw(s.Seed, n)
		}
	}
	return 0
}

// draw returns the delay for operation n. It evaluates the inverse of the distribution function at
// a number that depends only on seed and n.
func (d *Delay) draw(seed, n uint64) time.Duration {
	switch d.Distribution {
	case Uniform:
		return d.Low + time.Duration(uniform(seed, n)*float64(d.High-d.Low))
	case Exponential:
		return time.Duration(-math.Log(1-uniform(seed, n)) * float64(d.Low))
	}
	return d.Low
}

// uniform returns a number in [0, 1). The numbers for n = 1, 2, ... are distributed uniformly. They
// are the outputs of the generator SplitMix64 (Steele, Lea and Flood 2014) for a scrambled seed.
// Unlike a generator with state, uniform can be evaluated for any n.
func uniform(seed, n uint64) float64 {
	return float64(scramble(scramble(seed)+n*0x9e3779b97f4a7c15)>>11) / (1 << 53)
}

func scramble(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Run is one execution of a script. It numbers the operations and stores the arrival time of the
// first one. All members of a null cluster share a Run. It is safe for concurrent use.
type Run struct {
	script *Script
	count  atomic.Uint64
	start  atomic.Int64 // 1 + arrival time of the first operation; 0 before that
}

// NewRun starts the execution of a script.
func NewRun(s *Script) *Run { return &Run{script: s} }

// Arrive assigns a number to an operation that arrived at a member (counted from 1) and returns
// the script's action. The parameter `now` is a time in nanoseconds on a clock that is never
// negative. The result `due` is the time of the action on the same clock. The result `first` is
// true for the first operation; the script's times are measured from its arrival.
func (r *Run) Arrive(now int64, member int) (a Action, due int64, first bool) {
	n := r.count.Add(1)
	start := r.start.Load()
	if start == 0 {
		r.start.CompareAndSwap(0, now+1)
		start = r.start.Load()
	}
	start--
	// The result of now-start can be negative: another goroutine may have set start although it
	// read the clock later.
	a = r.script.Decide(n, member, time.Duration(max(now-start, 0)))
	return a, start + int64(a.At), n == 1
}
