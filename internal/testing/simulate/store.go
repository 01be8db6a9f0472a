package simulate

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// frame is the length in bytes of a request (a tag and a kind) and of a response (a tag and an
// outcome).
const frame = 5

// Store is the simulated world's store. Its messages consist only of tags, kinds and outcomes.
type Store struct {
	// InFlight is the maximum number of operations in flight on a connection: 1 as in HTTP/1.1,
	// or 0 for no limit.
	InFlight int
}

var errSimulated = errors.New("a simulated store has no servers")

// Name returns "simulated".
func (Store) Name() string { return "simulated" }

// Capabilities returns the capabilities: puts, and local reads whose responses contain no value.
func (s Store) Capabilities() kv.Capabilities {
	return kv.Capabilities{
		Operations:  map[kv.Kind]string{kv.Put: "a tag"},
		Reads:       map[kv.Consistency]string{kv.Local: "none"},
		MaxInFlight: s.InFlight,
	}
}

// DecodeSettings returns nil, because the store has no settings.
func (Store) DecodeSettings(func(any) error) (any, error) { return nil, nil }

// Server returns an error because a simulated store has no server.
func (Store) Server(string) (store.ServerSource, error) { return store.ServerSource{}, errSimulated }

// Launch returns an error because a simulated store has no processes.
func (Store) Launch(store.LaunchSpec) (store.Launch, error) { return store.Launch{}, errSimulated }

// Admin returns an error because a simulated store has no administration.
func (Store) Admin(store.Access) (store.Admin, error) { return noAdmin{}, errSimulated }

// Metrics returns nil.
func (Store) Metrics(store.Access, string) []store.MetricSource { return nil }

// Signal recognizes no log lines.
func (Store) Signal([]byte) (store.Signal, bool) { return store.Signal{}, false }

// Guarantees returns no guarantees.
func (Store) Guarantees() store.Guarantees { return store.Guarantees{} }

type noAdmin struct{}

func (noAdmin) Status(context.Context) (store.Status, error)        { return store.Status{}, errSimulated }
func (noAdmin) Members(context.Context) ([]store.Member, error)     { return nil, errSimulated }
func (noAdmin) Close() error                                        { return nil }
func (noAdmin) Role(context.Context, int) store.Member              { return store.Member{Err: errSimulated} }
func (noAdmin) UncheckedUserReason(context.Context) (string, error) { return "", nil }

// Codecs returns the protocol's codecs.
func (s Store) Codecs(store.Access) store.Codecs {
	room := s.InFlight
	if room == 0 {
		room = 1 << 20
	}
	return func(store.ConnectionInfo) store.Codec { return &codec{room: room, place: map[uint32]bool{}} }
}

type codec struct {
	out     []byte
	partial []byte
	room    int
	// place contains the tags of open operations. The value is true if the operation was canceled
	// and its response has not arrived yet.
	place map[uint32]bool
}

func (c *codec) Room() int { return c.room - len(c.place) }

func (c *codec) Submit(op *store.Op) {
	c.place[op.Tag] = false
	c.out = append(binary.BigEndian.AppendUint32(c.out, op.Tag), byte(op.Kind))
}

func (c *codec) Cancel(tag uint32) bool {
	c.place[tag] = true
	return false
}

func (c *codec) Feed(in []byte, to []store.Event) ([]store.Event, error) {
	if len(c.partial) > 0 {
		in = append(c.partial, in...)
	}
	for ; len(in) >= frame; in = in[frame:] {
		tag := binary.BigEndian.Uint32(in)
		given, open := c.place[tag]
		if !open {
			continue
		}
		delete(c.place, tag)
		ev := store.Event{Tag: tag, Outcome: kv.Outcome(in[4]), Member: 1, Term: 1}
		if given {
			ev.Type = store.LateResponse
		}
		to = append(to, ev)
	}
	c.partial = append(c.partial[:0], in...)
	return to, nil
}

func (c *codec) Lost(to []store.Event) []store.Event {
	for tag, given := range c.place {
		if !given {
			to = append(to, store.Event{Tag: tag, Outcome: kv.ConnectionLost})
		}
	}
	return to
}

func (c *codec) Tick(int64) int64 { return 0 }
func (c *codec) Out() []byte      { return c.out }
func (c *codec) Wrote(n int)      { c.out = c.out[:copy(c.out, c.out[n:])] }
func (c *codec) Draining() bool   { return false }
