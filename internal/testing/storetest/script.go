package storetest

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Script drives a codec over HTTP/1.1 without a connection: the test itself acts as the server.
type Script[C store.Codec] struct {
	testing.TB
	Codec C
	Field string // every request contains it
}

// Ask submits an operation and returns the first line and the body of the request.
func (s Script[C]) Ask(op store.Op) string {
	s.Helper()
	if s.Codec.Room() != 1 {
		s.Fatal("the codec cannot accept another operation")
	}
	s.Codec.Submit(&op)
	return s.Sent()
}

// Sent returns the first line and the body of the request that the codec has written.
func (s Script[C]) Sent() string {
	s.Helper()
	head, body, ok := strings.Cut(string(s.Codec.Out()), "\r\n\r\n")
	if !ok || !strings.Contains(head, s.Field) || s.Codec.Room() != 0 {
		s.Fatalf("the codec wrote %q", head)
	}
	s.Codec.Wrote(len(s.Codec.Out()))
	line, _, _ := strings.Cut(head, " HTTP/1.1\r\n")
	return strings.TrimRight(line+" "+body, " ")
}

// Feed passes a response to the codec and returns the codec's events.
func (s Script[C]) Feed(answer string) []store.Event {
	s.Helper()
	events, err := s.Codec.Feed([]byte(answer), nil)
	if err != nil {
		s.Fatal(err)
	}
	return events
}

// Outcomes checks the outcome of a put for each of several responses. The keys of wants describe
// the responses: each consists of a status code, a space and a body.
func (s Script[C]) Outcomes(answer func(status, body string) string, wants map[string]kv.Outcome) {
	s.Helper()
	for in, want := range wants {
		s.Ask(Put("k", nil))
		if e := s.Feed(answer(in[:3]+" X", in[4:])); len(e) != 1 || e[0].Outcome != want || len(e[0].Text) == 0 {
			s.Errorf("%s: %+v, want %v", in, e, want)
		}
	}
}

// CheckEndsOnce submits an operation with tag 9 and passes the response to the codec. If the
// response does not end the operation, CheckEndsOnce reports the connection as lost. The test fails
// unless exactly one event ends the operation.
func CheckEndsOnce(t *testing.T, c store.Codec, op store.Op, answer string) {
	t.Helper()
	op.Tag = 9
	c.Submit(&op)
	c.Wrote(len(c.Out()))
	events, err := c.Feed([]byte(answer), nil)
	if err != nil || len(events) == 0 {
		events = c.Lost(events)
	}
	if len(events) != 1 || events[0].Tag != 9 || events[0].Type != store.OperationDone {
		t.Fatalf("%d events %+v, %v", len(events), events, err)
	}
}

// BenchmarkExchange measures how long a codec takes for a request and its response.
func BenchmarkExchange(b *testing.B, c store.Codec, op store.Op, answer string) {
	b.Helper()
	events, reply := make([]store.Event, 0, 1), []byte(answer)
	b.ReportAllocs()
	for b.Loop() {
		c.Submit(&op)
		c.Wrote(len(c.Out()))
		var err error
		if events, err = c.Feed(reply, events[:0]); err != nil || len(events) != 1 || events[0].Outcome.Failed() {
			b.Fatal(events, err)
		}
	}
}
