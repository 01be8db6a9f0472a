package store

import "github.com/quorumbench/quorumbench/internal/store/call"

// Tapped is an optional interface of a Store whose protocol is understood by who only
// hears it, so that what passes between clients and a member can be recorded.
type Tapped interface {
	// Tap understands one connection from its first byte on.
	Tap(TapConfig) Tap
}

// TapConfig is of one connection.
type TapConfig struct {
	Conn     uint32 // its number in the recording
	Redactor *call.Redactor
	// Call takes each call when it has ended, and Gap what is missing. What they are
	// given is the Tap's again when they return.
	Call func(*call.Call)
	Gap  func(call.Gap)
}

// Tap understands a connection. It belongs to one goroutine.
type Tap interface {
	// Feed takes what one side sent, and when that had come. After an error, which is
	// one sentence, the tap understands nothing more of the connection.
	Feed(ofClient bool, at int64, b []byte) error
	// End says that the connection has ended: calls that are open get no answer.
	End(at int64)
	// Open is how many calls await their answer.
	Open() int
}

// Replayer is an optional interface of a Store whose codecs send recorded calls again
// (Op.Call).
type Replayer interface {
	Store
	// Replays reports whether they send calls like that one.
	Replays(c *call.Call) bool
	// Requires is another key that must have been there for a part to be done, such as
	// a node's parent; nil for none.
	Requires(p *call.Part) []byte
}
