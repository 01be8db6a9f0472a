// Package null is the script that every null server follows: when each
// operation is answered, and which of them are answered wrongly, with an error
// or not at all. A null server is a server without a store behind it: what the
// generator is calibrated against, and the ground truth of its accuracy tests.
//
// A Script has no clock. What it does with an operation is a pure function of
// the operation's number and of when it arrived, so that a test can say from
// arithmetic alone what a generator must have measured.
package null

import (
	"errors"
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
	NumKinds
)

// Mode is how the server treats whole connections.
type Mode uint8

// The modes.
const (
	Speaks  Mode = iota // the protocol, as it should
	Garbage             // random bytes instead of the protocol
	HTTP1               // a page in HTTP/1.1 instead of the protocol
	Silent              // nothing: the connection is accepted and that is all
)

// Rule gives every Every-th operation the same fate.
type Rule struct {
	Kind  Kind
	Name  string // of Error and Reset
	Every uint64 // from 1
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
	// them (Members).
	Lag     time.Duration
	NoLocal bool
}

// Members is an error where the script says of members what the server of a
// protocol does not know.
func (s *Script) Members() error {
	if s.Lag > 0 || s.NoLocal {
		return errors.New("the null server of this protocol has no lag, and refuses no level of a read")
	}
	return nil
}

// Action is what happens to one operation, and when.
type Action struct {
	Kind Kind
	Name string        // of Error and Reset
	At   time.Duration // when it happens, since the first operation; never before the arrival
}

// Decide says what happens to operation n, counted from 1, that arrived at the
// given time after the first.
//
// An answer that would be due inside a stall is held until the stall's end.
// With 1,000 operations a second for 10 s and stall=1s@4s, those that arrive in
// the fifth second, 1,000 of 10,000, wait 5 s - arrival, from 1 s down to
// nothing. So 9,000 take no time, and of the slowest tenth half wait over
// 0.5 s and a tenth over 0.9 s: p95 is 0.5 s and p99 is 0.9 s.
func (s *Script) Decide(n uint64, arrival time.Duration) Action {
	a := Action{At: arrival + s.delay(n)}
	for _, stall := range s.Stalls {
		if end := stall.Start + stall.Length; a.At >= stall.Start && a.At < end {
			a.At = end
		}
	}
	for i := range s.Rules {
		if r := &s.Rules[i]; n%max(r.Every, 1) == 0 {
			a.Kind, a.Name = r.Kind, r.Name
			break
		}
	}
	return a
}

// AtOnce reports whether every operation gets the right answer without delay,
// so that a server need not ask.
func (s *Script) AtOnce() bool {
	return len(s.Delays) == 0 && len(s.Stalls) == 0 && len(s.Rules) == 0 && len(s.Closes) == 0
}
