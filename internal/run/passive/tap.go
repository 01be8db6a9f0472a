// Package passive decodes what passes between clients and a member of a store. A relay
// forwards the connections, or a packet capture copies their packets; both put the bytes of a
// connection in order and pass them to the store's passive decoder (store.Tap).
package passive

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Sink takes what was understood; recording.Writer is one.
type Sink interface {
	Call(*call.Call)
	Gap(call.Gap)
}

// TapConfig is what is understood, and who takes it.
type TapConfig struct {
	Tapped   store.Tapped
	Redactor *call.Redactor
	Sink     Sink
}

// Conn is one connection. It belongs to one goroutine.
type Conn struct {
	number uint32
	tap    store.Tap
	sink   Sink
	ended  bool
}

// Begin begins to understand a connection, by its number in the recording.
func (c *TapConfig) Begin(number uint32) *Conn {
	return &Conn{
		number: number, sink: c.Sink,
		tap: c.Tapped.Tap(store.TapConfig{Conn: number, Redactor: c.Redactor, Call: c.Sink.Call, Gap: c.Sink.Gap}),
	}
}

// Feed takes what one side sent, and when that had come, in nanoseconds since the
// recording began. It reports whether the connection is understood.
func (c *Conn) Feed(ofClient bool, at int64, b []byte) bool {
	if c.ended {
		return false
	}
	if err := c.tap.Feed(ofClient, at, b); err != nil {
		c.End(at, fmt.Sprintf("the connection is not understood from here on: %v", err))
	}
	return !c.ended
}

// Missing says what is missing from a time on, unless what is understood has ended.
func (c *Conn) Missing(at int64, why string) {
	if !c.ended {
		c.sink.Gap(call.Gap{At: at, Conn: c.number, Why: why})
	}
}

// End ends what is understood, once, with what is missing from a time on, if anything is:
// that time is long past where much waited to be understood.
func (c *Conn) End(at int64, why string) {
	if c.ended {
		return
	}
	if why != "" {
		c.Missing(at, why)
	}
	c.ended = true
	c.tap.End(at)
}
