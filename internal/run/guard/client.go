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
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/text"
)

// How often a question is asked again that was answered with an error, and after what.
const (
	tries    = 5
	tryPause = 200 * time.Millisecond
)

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

// unserved reports whether an error is the answer of a member that the request cannot be
// served as it is, whoever sends it and whenever.
func unserved(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) && refused.outcome == kv.BadRequest
}

// Denied reports whether an error is the answer of a member that the user has no right to
// the request.
func Denied(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) && refused.outcome == kv.Denied
}

// guardedRemoval returns the transaction in which Kubernetes deletes a key that has a
// revision: a server that stands in for etcd, such as kine, may have no other deletion. ok
// is false for a store without transactions of this form.
func (c *Client) guardedRemoval(key string, revision int64) (op store.Op, ok bool) {
	name := []byte(key)
	request := &call.Call{Guarded: true, Parts: []call.Part{
		{Action: call.Compare, Target: call.Modified, Key: name, Number: revision},
		{Action: call.Remove, Key: name, Branch: call.Then},
		{Action: call.Read, Key: name, Branch: call.Else},
	}}
	return store.Op{Kind: kv.Delete, Key: name, Call: request}, c.Store.Capabilities().Has(kv.ApplicationCalls)
}
