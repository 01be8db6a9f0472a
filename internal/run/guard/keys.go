package guard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// How often a question is asked again that was answered with an error, and after what.
const (
	tries    = 5
	tryPause = 200 * time.Millisecond
)

// Interval is an interval of keys: from From up to but not including End, as
// store.RangeOp has it.
type Interval struct{ From, End []byte }

// Below is the interval of all keys that begin with a prefix, which is not empty.
func Below(prefix string) Interval { return Interval{[]byte(prefix), after(prefix)} }

// OfKeys is the interval of the keys of a key space.
func OfKeys(prefix string, size int, n uint64) (Interval, error) {
	space, err := keys.NewSpace(prefix, size, n)
	if err != nil {
		return Interval{}, err
	}
	last := space.Append(nil, n-1)
	return Interval{space.Append(nil, 0), append(last, 0)}, nil
}

// after is the first key that is after all keys with the prefix; a zero byte
// where there is none, as etcd has it.
func after(prefix string) []byte {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return []byte{0}
}

// examples takes a few keys of an answer.
type examples struct{ keys []string }

func (*examples) Begin(uint32) bool { return false }

func (e *examples) Add(_ uint32, key, _ []byte, _ int64) {
	if len(e.keys) < mostExamples {
		e.keys = append(e.keys, string(key))
	}
}

// mostExamples is how many keys a list asks for.
const mostExamples = 3

// Client asks a cluster about single keys, at whichever of its endpoints answers.
type Client struct {
	Store  store.Store
	Access store.Access

	answers int // the place of the endpoint that answered last
}

// ask does one operation at the first endpoint that does it. What may pass is asked
// again; conflicts says that a conflict is an answer.
func (c *Client) ask(ctx context.Context, op *store.Op, conflicts bool) (ev store.Event, err error) {
	var failed error
	for try := range tries {
		if try > 0 && !pause(ctx, tryPause) {
			return ev, context.Cause(ctx)
		}
		failed = nil
		answered := false
		for i := range c.Access.Endpoints {
			at := (c.answers + i) % len(c.Access.Endpoints)
			endpoint := c.Access.Endpoints[at]
			ev, err = load.Dialer(c.Store, c.Access).Ask(ctx, endpoint, c.Store.Codecs(c.Access), op)
			switch {
			case ctx.Err() != nil:
				return ev, context.Cause(ctx)
			case err != nil:
				failed = errors.Join(failed, err)
				continue // at the next
			case !ev.Outcome.Failed() && (ev.Outcome != kv.Conflict || conflicts):
				c.answers = at
				return ev, nil
			}
			answered = true
			refused := &refusedError{endpoint, ev.Outcome, text.Line(string(ev.Text), text.OfServer)}
			if failed = errors.Join(failed, refused); ev.Outcome == kv.BadRequest || ev.Outcome == kv.Denied {
				return ev, refused
			}
		}
		if !answered && try > 0 {
			break // a member that did not answer twice is down
		}
	}
	return ev, failed
}

// refusedError is the answer of a member that does not do what it was asked for.
type refusedError struct {
	endpoint string
	outcome  kv.Outcome
	text     string
}

func (e *refusedError) Error() string {
	return e.endpoint + " refuses it: " + cmp.Or(e.text, e.outcome.String())
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (c *Client) level() kv.Consistency { return c.Store.Capabilities().Strongest() }

// Count asks how many keys are in an interval: what is above 0 is at least that. It
// returns the names of some, where the store tells them.
func (c *Client) Count(ctx context.Context, in Interval) (n int64, some []string, err error) {
	names := &examples{}
	op := store.Op{Kind: kv.Range, Consistency: c.level(), Key: in.From, Range: &store.RangeOp{End: in.End, Limit: mostExamples, Keys: names}}
	ev, err := c.ask(ctx, &op, false)
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("the keys from %q on cannot be listed: %w", in.From, err)
	case ev.Outcome == kv.Miss:
		return 0, nil, nil
	}
	return max(ev.Count, int64(len(names.keys))), names.keys, nil
}

// get reads a key; found is false where it is not there.
func (c *Client) get(ctx context.Context, key string) (value []byte, found bool, err error) {
	op := store.Op{Kind: kv.Get, Consistency: c.level(), Key: []byte(key)}
	ev, err := c.ask(ctx, &op, false)
	if err != nil || ev.Outcome == kv.Miss {
		return nil, false, err
	}
	return bytes.Clone(ev.Value), true, nil
}

// create writes a key that is not there; made is false where it is.
func (c *Client) create(ctx context.Context, key string, value []byte) (made bool, err error) {
	op := store.Op{Kind: kv.CAS, Key: []byte(key), Value: value}
	if _, ok := c.Store.Capabilities().Operations[kv.CAS]; !ok {
		op.Kind = kv.Put
	}
	ev, err := c.ask(ctx, &op, true)
	if err == nil && ev.Outcome == kv.Conflict {
		// An earlier try may have been done, although it was not answered.
		now, found, err := c.get(ctx, key)
		return found && bytes.Equal(now, value), err
	}
	return err == nil, err
}

// put writes a key.
func (c *Client) put(ctx context.Context, key string, value []byte) error {
	op := store.Op{Kind: kv.Put, Key: []byte(key), Value: value}
	_, err := c.ask(ctx, &op, false)
	return err
}

// remove deletes a key; one that is not there is no error.
func (c *Client) remove(ctx context.Context, key string) error {
	op := store.Op{Kind: kv.Delete, Key: []byte(key)}
	_, err := c.ask(ctx, &op, false)
	if !unserved(err) {
		return err
	}
	read := store.Op{Kind: kv.Get, Consistency: c.level(), Key: op.Key}
	ev, failed := c.ask(ctx, &read, false)
	if failed != nil || ev.Outcome == kv.Miss {
		return failed
	}
	if op, ok := c.guardedRemoval(key, ev.Revision); ok {
		_, err = c.ask(ctx, &op, false)
	}
	return err
}

// Remove deletes a key of the run's own; one that is not there is no error.
func (c *Client) Remove(ctx context.Context, key string) error { return c.remove(ctx, key) }
