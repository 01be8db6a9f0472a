package etcd

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// newCodecs returns a function that creates the codecs for one event loop. If a user is set, these
// codecs share one token. The first codec with a connection requests the token. Until the token
// arrives, Room returns 0 for all of the codecs. The engine must call Room before each call of
// Submit. It must call Tick once after connecting, and again at the time that Tick returned. After
// each call of Tick or Feed it must write the bytes that Out returns.
func newCodecs(a store.Access) store.Codecs {
	l := newLogin(a.User, a.Password)
	return func(d store.ConnectionInfo) store.Codec {
		c := newCodec(h2.Config{Authority: d.Endpoint, TLS: a.TLS != nil, BufferBudget: d.BufferBudget}, l, d.Now)
		c.grants = a.Grants
		return c
	}
}

// Room implements store.Codec. It returns 0 until the server's first SETTINGS frame has proven that
// the server speaks HTTP/2. It also returns 0 if a user is set and there is no valid token.
func (c *codec) Room() int {
	if !c.conn.SettingsReceived() || (c.login != nil && !c.login.ready(c)) {
		return 0
	}
	return c.conn.Room()
}

// Submit implements store.Codec.
func (c *codec) Submit(op *store.Op) {
	gen := uint8(c.gen << genShift)
	if op.Call != nil {
		c.sendCall(op, gen)
		return
	}
	switch op.Kind {
	case kv.Put:
		c.sendPut(op, gen|callPut)
	case kv.Get:
		c.get(op, gen|callGet)
	case kv.Range:
		c.keys = op.Range.Keys
		c.interval(op, gen)
	case kv.Delete:
		c.remove(op, gen|callDelete)
	case kv.CAS:
		c.cas(op, gen|callCAS)
	case kv.Txn:
		c.txn(op, gen|callTxn)
	case kv.TxnGet:
		c.keys = op.Range.Keys
		if op.Range.CountOnly {
			c.txnGet(op, gen|callTxnCount)
		} else {
			c.txnGet(op, gen|callTxnGet)
		}
	case kv.STM:
		c.beginSTM(op)
	case kv.Exists:
		c.exists(op, gen|callExists)
	case kv.KeepAlive:
		c.keepAlive(op)
	case kv.Watch:
		c.watch(op)
	}
}

// Cancel implements store.Codec. For most operations it resets the HTTP/2 stream, which frees the
// stream's slot at once.
func (c *codec) Cancel(tag uint32) bool {
	if !c.conn.Cancel(tag) && !c.cancelSTM(tag) && !c.cancelScan(tag) && !c.cancelKeepAlive(tag) {
		c.cancelWatch(tag)
		c.abandonCancellation(tag)
	}
	return true
}

// Feed implements store.Codec.
func (c *codec) Feed(in []byte, events []store.Event) ([]store.Event, error) {
	replies, err := c.conn.Feed(in)
	for i := range replies {
		r := &replies[i]
		var failed error
		switch r.Sub & callMask {
		case callAuth:
			failed = c.login.handleReply(c, r)
		case callWatch:
			events, failed = c.watchReply(r, events)
		case callKeepAlive:
			events, failed = c.keepAliveReply(r, events)
		case callSTMRead, callSTMCommit, callLock, callUnlock:
			events, failed = c.stmReply(r, events)
		case callLockWatch:
			events, failed = c.lockWatchReply(r, events)
		case callPage, callStream:
			events, failed = c.scanReply(r, events)
		default:
			events, failed = c.event(r, events)
		}
		if err == nil {
			err = failed
		}
	}
	if len(c.stm.stalled) > 0 {
		c.resumeSTM()
	}
	if len(c.scans.stalled) > 0 {
		events = c.resumeScans(events)
	}
	if err != nil {
		return events, explain(err)
	}
	if c.login != nil {
		c.login.startIfNeeded(c)
	}
	return events, nil
}

// explain adds a hint for etcd users to an error.
func explain(err error) error {
	switch {
	case errors.Is(err, h2.ErrHTTP1):
		return fmt.Errorf("%w: is this an etcd client port?", err)
	case errors.Is(err, h2.ErrTLS):
		return fmt.Errorf("%w: are --cacert, --cert and --key missing?", err)
	}
	return err
}

// Lost implements store.Codec.
func (c *codec) Lost(events []store.Event) []store.Event {
	replies := c.conn.Lost()
	for i := range replies {
		switch r := &replies[i]; r.Sub & callMask {
		case callAuth:
		case callWatch:
			events = c.handleWatchEnd(r, events)
		case callKeepAlive:
			events = c.keepAliveEnded(r, events)
		case callSTMRead, callSTMCommit, callLock, callUnlock:
			events, _ = c.stmReply(r, events)
		case callLockWatch:
			events, _ = c.lockWatchReply(r, events)
		case callPage, callStream:
			events, _ = c.scanReply(r, events)
		default:
			events = append(events, store.Event{Tag: r.Tag, Outcome: outcomeOfEnd(r.End), Text: r.Text})
		}
	}
	events = c.lostSTM(events)
	events = c.lostScans(events)
	if c.login != nil {
		c.login.handleLostConnection(c)
	}
	return events
}

// Tick implements store.Codec. It starts a login when one is needed. If no user is set, it returns
// 0.
func (c *codec) Tick(now int64) int64 {
	c.now = now
	if c.login == nil {
		return 0
	}
	c.login.startIfNeeded(c)
	return c.login.nextCheck(c)
}

// Out implements store.Codec.
func (c *codec) Out() []byte { return c.conn.Out() }

// Wrote implements store.Codec.
func (c *codec) Wrote(n int) { c.conn.Wrote(n) }

// Draining implements store.Codec.
func (c *codec) Draining() bool { return c.conn.Draining() }
