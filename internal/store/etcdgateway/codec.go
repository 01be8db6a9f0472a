package etcdgateway

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

func newCodec(d store.ConnectionInfo) *codec {
	budget := d.BufferBudget
	if budget == nil {
		budget = parts.New(parts.DefaultMax)
	}
	c := &codec{Conn: http1.NewConn(http1.Config{Host: d.Endpoint, BufferBudget: budget}), parts: budget}
	for r, path := range paths {
		fields := []http1.Field{{Name: "Content-Type", Value: "application/json"}}
		if rpc(r) == ledWatchRPC { // the gateway forwards this header field as gRPC metadata
			fields = append(fields, http1.Field{Name: "Grpc-Metadata-Hasleader", Value: "true"})
		}
		c.templates[r] = c.Template("POST", path, true, fields...)
	}
	return c
}

// Room implements store.Codec.
func (c *codec) Room() int {
	if c.Idle() {
		return 1
	}
	return 0
}

// Submit implements store.Codec.
func (c *codec) Submit(op *store.Op) {
	if op.Kind == kv.Watch {
		if !op.Watch.RequestProgress { // if RequestProgress is set, send nothing, because the gateway offers no progress request
			c.createWatcher(op)
		}
		return
	}
	c.tag, c.kind, c.lease, c.keys = op.Tag, op.Kind, 0, nil
	c.refused, c.replayed, c.guarded = false, false, false
	switch {
	case op.Call != nil && canSend(op.Call):
		if c.replayed, c.guarded = true, op.Call.Guarded; op.Range != nil {
			c.keys = op.Range.Keys
		}
		c.replay(op.Call)
	case op.Call != nil:
		c.refuse()
	case op.Kind == kv.Put:
		c.send(putRPC, appendPut(c.body(putRPC), op.Key, op.Value))
	case op.Kind == kv.Get:
		c.send(rangeRPC, appendEnd(appendLocal(appendKey(c.body(rangeRPC), op.Key), op.Consistency == kv.Local)))
	case op.Kind == kv.Range:
		c.keys = op.Range.Keys
		c.sendRange(op)
	case op.Kind == kv.Delete:
		c.send(deleteRPC, appendRemove(c.body(deleteRPC), &call.Part{Action: call.Remove, Key: op.Key}))
	case op.Kind == kv.CAS:
		c.sendCAS(op)
	case op.Kind == kv.Txn:
		c.sendTxn(op)
	case op.Kind == kv.KeepAlive:
		c.keepAlive(op.Lease)
	default:
		c.refuse()
	}
}

// refuse handles an operation that the gateway does not support. Only Feed can return events, so
// refuse sends a read, and Feed reports the error when the response arrives.
func (c *codec) refuse() {
	c.refused = true
	c.send(rangeRPC, appendEnd(appendLocal(appendKey(c.body(rangeRPC), []byte("quorumbench/refused")), true)))
}

// canSend reports whether the codec can send a call of an application. The codec can send the same
// calls as etcd's gRPC codec, except calls that start or end a watcher. With the gateway, only an
// operation of kind Watch can start a watcher.
func canSend(r *call.Call) bool {
	if r.Pushed || len(r.Parts) == 0 {
		return false
	}
	for i := range r.Parts {
		switch r.Parts[i].Action {
		case call.OtherAction, call.Watch, call.Unwatch:
			return false
		}
	}
	return true
}

// Cancel implements store.Codec. If the request was already written, the connection stays busy
// until the response arrives.
func (c *codec) Cancel(tag uint32) bool {
	if c.watch.requested && tag == c.watch.tag {
		c.watch.finished = true
	}
	return c.Conn.Cancel()
}

// Feed implements store.Codec.
func (c *codec) Feed(in []byte, events []store.Event) ([]store.Event, error) {
	c.events, c.buf = events, c.buf[:0]
	r, err := c.Conn.Feed(in)
	events, c.events = c.events, nil
	if err != nil {
		return events, explain(err)
	}
	if r == nil {
		return events, nil
	}
	if c.watch.requested {
		return c.watchEnded(r, events), nil
	}
	return c.handleResponse(r, events), nil
}

// explain adds to an error a hint about the error's likely cause.
func explain(err error) error {
	switch {
	case errors.Is(err, http1.ErrHTTP2):
		return fmt.Errorf("%w: does this etcd endpoint serve HTTP, or only gRPC?", err)
	case errors.Is(err, http1.ErrTLS):
		return fmt.Errorf("%w: are --cacert, --cert and --key missing?", err)
	}
	return err
}

func (c *codec) handleResponse(r *http1.Response, events []store.Event) []store.Event {
	events = append(events, store.Event{Tag: c.tag})
	e := &events[len(events)-1]
	switch {
	case r.Late:
		e.Type = store.LateResponse
	case c.refused:
		e.Outcome, e.Text = kv.BadRequest, noSuchOperation
	case r.Status != 200:
		c.setFailure(r, e)
	default:
		c.event(r.Body, e)
	}
	return events
}

// Lost implements store.Codec.
func (c *codec) Lost(events []store.Event) []store.Event {
	end, r := c.Conn.Lost()
	c.parts.Release(c.messages)
	c.messages = nil
	if c.watch.requested {
		return c.watchLost(end, events)
	}
	outcome := kv.NotSent
	switch end {
	case http1.Nothing:
		return events
	case http1.Answered:
		return c.handleResponse(r, events)
	case http1.Broken:
		outcome = kv.ConnectionLost
	}
	return append(events, store.Event{Tag: c.tag, Outcome: outcome})
}

// Tick implements store.Codec. It does nothing.
func (c *codec) Tick(int64) int64 { return 0 }
