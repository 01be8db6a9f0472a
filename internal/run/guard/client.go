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
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/text"
)

// maxAttempts is the maximum number of attempts to send a request. retryPause is the pause between
// two attempts.
const (
	maxAttempts = 5
	retryPause  = 200 * time.Millisecond
)

// Client sends requests about single keys to the first endpoint in the cluster that responds.
type Client struct {
	Store  store.Store
	Access store.Access

	lastResponder int // index of the endpoint that gave the last response
}

// ask sends one operation to the cluster's endpoints in turn, until one of them executes it. After
// a temporary error, it tries the endpoints again. If the parameter `conflicts` is set, a conflict
// is a valid response.
func (c *Client) ask(ctx context.Context, op *store.Op, conflicts bool) (ev store.Event, err error) {
	var lastErr error
	for try := range maxAttempts {
		if try > 0 && !measure.Pause(ctx, retryPause) {
			return ev, context.Cause(ctx)
		}
		lastErr = nil
		answered := false
		for i := range c.Access.Endpoints {
			at := (c.lastResponder + i) % len(c.Access.Endpoints)
			endpoint := c.Access.Endpoints[at]
			ev, err = load.Dialer(c.Store, c.Access).RunOperation(ctx, endpoint, c.Store.Codecs(c.Access), op)
			switch {
			case ctx.Err() != nil:
				return ev, context.Cause(ctx)
			case err != nil:
				lastErr = errors.Join(lastErr, err)
				continue // try the next endpoint
			case !ev.Outcome.Failed() && (ev.Outcome != kv.Conflict || conflicts):
				c.lastResponder = at
				return ev, nil
			}
			answered = true
			refused := &refusedError{endpoint, ev.Outcome, text.Line(string(ev.Text), text.MaxServerText)}
			if lastErr = errors.Join(lastErr, refused); ev.Outcome == kv.BadRequest || ev.Outcome == kv.Denied {
				return ev, refused
			}
		}
		if !answered && try > 0 {
			break // no member responded in two attempts, so all members are down
		}
	}
	return ev, lastErr
}

// refusedError reports that a member rejected a request.
type refusedError struct {
	endpoint string
	outcome  kv.Outcome
	text     string
}

func (e *refusedError) Error() string {
	return e.endpoint + " rejects the request: " + cmp.Or(e.text, e.outcome.String())
}

func (c *Client) level() kv.Consistency { return c.Store.Capabilities().Strongest() }

// Count returns a lower bound for the number of keys in an interval. The bound is 0 only if the
// interval contains no keys. If the store can list keys, Count also returns the names of some of
// them.
func (c *Client) Count(ctx context.Context, in Interval) (n int64, sampleKeys []string, err error) {
	names := &examples{}
	op := store.Op{Kind: kv.Range, Consistency: c.level(), Key: in.From, Range: &store.RangeOp{End: in.End, Limit: maxExamples, Keys: names}}
	ev, err := c.ask(ctx, &op, false)
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("cannot list the keys starting with %q: %w", in.From, err)
	case ev.Outcome == kv.Miss:
		return 0, nil, nil
	}
	return max(ev.Count, int64(len(names.keys))), names.keys, nil
}

// get reads a key; found is false if the key does not exist.
func (c *Client) get(ctx context.Context, key string) (value []byte, found bool, err error) {
	op := store.Op{Kind: kv.Get, Consistency: c.level(), Key: []byte(key)}
	ev, err := c.ask(ctx, &op, false)
	if err != nil || ev.Outcome == kv.Miss {
		return nil, false, err
	}
	return bytes.Clone(ev.Value), true, nil
}

// create writes a key unless the key already exists; the result `created` is false if it exists.
func (c *Client) create(ctx context.Context, key string, value []byte) (created bool, err error) {
	op := store.Op{Kind: kv.CAS, Key: []byte(key), Value: value}
	if _, ok := c.Store.Capabilities().Operations[kv.CAS]; !ok {
		op.Kind = kv.Put
	}
	ev, err := c.ask(ctx, &op, true)
	if err == nil && ev.Outcome == kv.Conflict {
		// An earlier attempt may have been executed although its response was lost.
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

// Remove deletes a key. A missing key is not an error.
func (c *Client) Remove(ctx context.Context, key string) error {
	op := store.Op{Kind: kv.Delete, Key: []byte(key)}
	_, err := c.ask(ctx, &op, false)
	if !isUnsupported(err) {
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

// isUnsupported reports whether err means that the servers can never execute this kind of request.
func isUnsupported(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) && refused.outcome == kv.BadRequest
}

// IsDenied reports whether err means that the user lacks the right to make the request.
func IsDenied(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) && refused.outcome == kv.Denied
}

// guardedRemoval returns the transaction with which Kubernetes deletes a key that has a known
// revision. A server that replaces etcd, such as kine, may support no other way to delete keys. ok
// is false if the store has no such transactions.
func (c *Client) guardedRemoval(key string, revision int64) (op store.Op, ok bool) {
	name := []byte(key)
	request := &call.Call{Guarded: true, Parts: []call.Part{
		{Action: call.Compare, Target: call.Modified, Key: name, Number: revision},
		{Action: call.Remove, Key: name, Branch: call.Then},
		{Action: call.Read, Key: name, Branch: call.Else},
	}}
	return store.Op{Kind: kv.Delete, Key: name, Call: request}, c.Store.Capabilities().Has(kv.ApplicationCalls)
}
