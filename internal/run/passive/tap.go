// Package passive decodes the traffic between clients and a member of a store. The traffic is
// observed by a relay, which forwards the connections, or by a packet capture, which copies their
// packets. Both put the bytes of a connection in order and pass them to the store's passive decoder
// (store.Tap).
package passive

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Sink receives the decoded calls and the gaps. call.RecordingWriter implements it.
type Sink interface {
	Call(*call.Call)
	Gap(call.Gap)
}

// TapConfig configures the decoding.
type TapConfig struct {
	Provider store.TapProvider
	Redactor *call.Redactor
	Sink     Sink
}

// Conn decodes one connection. It is not safe for concurrent use.
type Conn struct {
	number uint32
	tap    store.Tap
	sink   Sink
	ended  bool
}

// Begin starts decoding a connection. number is the connection's number in the recording.
func (c *TapConfig) Begin(number uint32) *Conn {
	return &Conn{
		number: number, sink: c.Sink,
		tap: c.Provider.Tap(store.TapConfig{Conn: number, Redactor: c.Redactor, Call: c.Sink.Call, Gap: c.Sink.Gap}),
	}
}

// Feed decodes bytes that one side has sent. at is the time of the bytes in nanoseconds since the
// recording began. Feed returns false if the connection is no longer decoded.
func (c *Conn) Feed(ofClient bool, at int64, b []byte) bool {
	if c.ended {
		return false
	}
	if err := c.tap.Feed(ofClient, at, b); err != nil {
		c.End(at, fmt.Sprintf("the rest of the connection cannot be decoded: %v", err))
	}
	return !c.ended
}

// ReportGap reports a gap that begins at the given time. It does nothing if decoding has ended.
func (c *Conn) ReportGap(at int64, why string) {
	if !c.ended {
		c.sink.Gap(call.Gap{At: at, Conn: c.number, Reason: why})
	}
}

// End ends decoding. Further calls have no effect. If why is not empty, End reports a gap that
// begins at the time at. If there was a backlog, this time can be long before the call.
func (c *Conn) End(at int64, why string) {
	if c.ended {
		return
	}
	if why != "" {
		c.ReportGap(at, why)
	}
	c.ended = true
	c.tap.End(at)
}
