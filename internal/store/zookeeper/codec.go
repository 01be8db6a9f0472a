package zookeeper

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// Room implements store.Codec. It returns 0 until the server has granted the session and accepted
// the user, if any. It reports only half of the free slots, because an operation can need a second
// request.
func (c *codec) Room() int {
	if !c.conn.Ready() || c.conn.BufferedBytes() >= maxBufferedBytes {
		return 0
	}
	return max(0, (maxUnanswered-c.conn.Open())/2)
}

// Submit implements store.Codec.
func (c *codec) Submit(op *store.Op) {
	call := jute.Call{Tag: op.Tag}
	c.activity.sent++
	if op.Call != nil {
		c.replay(call, op)
		return
	}
	if op.Kind == kv.Txn {
		c.submitTxn(call, op)
		return
	}
	if op.Kind == kv.KeepAlive {
		call.Sub = callPing
		c.conn.PingWithReply(call)
		return
	}
	p, wrong := pathOf(op.Key)
	if wrong != "" && op.Kind != kv.Range {
		c.refuse(call, wrong)
		return
	}
	switch op.Kind {
	case kv.Put:
		call.Sub = callPut
		c.conn.SetData(call, p, op.Value, jute.AnyVersion)
	case kv.Get:
		c.syncFirst(&call, p, op.Consistency)
		call.Sub = callGet
		c.conn.GetData(call, p, false)
	case kv.Exists:
		c.syncFirst(&call, p, op.Consistency)
		call.Sub = callExists
		c.conn.Exists(call, p, false)
	case kv.Range:
		c.submitRange(call, op)
	case kv.Delete:
		call.Sub = callDelete
		c.conn.Delete(call, p, jute.AnyVersion)
	case kv.CAS:
		c.submitCAS(call, p, op)
	case kv.Ephemeral:
		call.Sub = callEphemeral
		c.conn.Create(call, jute.NewNode{Path: p, Data: op.Value, ACL: c.acl, Mode: jute.Ephemeral})
	case kv.Watch:
		c.watch(call, p, op)
	default:
		c.refuse(call, "ZooKeeper does not support this kind of operation")
	}
}

// submitCAS sends a compare-and-set. The operation's Revision is the node's expected version plus
// 1, because new nodes have version 0, and Revision 0 means that the node must not exist. If
// Revision is negative, submitCAS first reads the node's current version.
func (c *codec) submitCAS(call jute.Call, p jute.Path, op *store.Op) {
	switch {
	case op.Revision < 0:
		call.Sub, call.Extra = callCASRead, 1
		c.values.push(op.Value)
		c.conn.Exists(call, p, false)
	case op.Revision == 0:
		call.Sub = callCASCreate
		c.conn.Create(call, jute.NewNode{Path: p, Data: op.Value, ACL: c.acl})
	case op.Revision > 1<<31:
		c.refuse(call, "the expected version is too high for a ZooKeeper node")
	default:
		call.Sub = callCAS
		c.conn.SetData(call, p, op.Value, int32(op.Revision-1))
	}
}

// Cancel implements store.Codec. Replies arrive in order, so the codec must still wait for the
// reply to the canceled operation.
func (c *codec) Cancel(tag uint32) bool {
	c.conn.Cancel(tag)
	return false
}

// Feed implements store.Codec.
func (c *codec) Feed(in []byte, events []store.Event) ([]store.Event, error) {
	replies, err := c.conn.Feed(in)
	c.silence.inputArrived = true
	if errors.Is(err, jute.ErrExpired) {
		events = append(events, store.Event{Type: store.SessionExpired})
	}
	for i := range replies {
		r := &replies[i]
		if r.End == jute.Notified {
			events = c.handleNotification(r, events)
			continue
		}
		var failed error
		if events, failed = c.handleReply(r, events); failed != nil && err == nil {
			err = failed
		}
	}
	return events, explain(err)
}

// explain adds a hint about the cause or the effect to an error.
func explain(err error) error {
	switch {
	case errors.Is(err, jute.ErrHTTP):
		return fmt.Errorf("%w: is this ZooKeeper's client port, and not the port of its admin server?", err)
	case errors.Is(err, jute.ErrTLS):
		return fmt.Errorf("%w: are --cacert, --cert and --key missing?", err)
	case errors.Is(err, jute.ErrExpired):
		return fmt.Errorf("%w; the client starts a new session", err)
	}
	return err
}

// Lost implements store.Codec.
func (c *codec) Lost(events []store.Event) []store.Event {
	replies := c.conn.Lost()
	for i := range replies {
		r := &replies[i]
		switch r.Sub {
		case callIgnored, callClose, callSync, callRearm, callRearmExists, callProgress:
			continue
		}
		if r.Canceled {
			continue
		}
		e := store.Event{Tag: r.Tag, Outcome: kv.ConnectionLost}
		if r.End == jute.NotSent {
			e.Outcome = kv.NotSent
		}
		if size := jute.RequestHeaderLen + len(r.Request); size > jute.DefaultMaxBuffer {
			e.Text = fmt.Appendf(nil, "the request has %d bytes; a server closes the connection if a request is larger than its jute.maxbuffer (default: %d bytes)",
				size, jute.DefaultMaxBuffer)
		}
		events = append(events, e)
	}
	return c.watches.endPlain(events)
}

// Out implements store.Codec.
func (c *codec) Out() []byte { return c.conn.Out() }

// Wrote implements store.Codec.
func (c *codec) Wrote(n int) { c.conn.Wrote(n) }

// Draining implements store.Codec. ZooKeeper does not announce that it will end a session, so
// Draining returns true only if the codec itself closed the session.
func (c *codec) Draining() bool { return c.closed }
