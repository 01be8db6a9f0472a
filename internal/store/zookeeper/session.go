package zookeeper

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// sessionTimeout is the session timeout that a codec requests. It is longer than an election or a
// short pause of a member. The server may grant a shorter timeout.
const sessionTimeout = 30 * time.Second

// tickInterval is the time in nanoseconds after which Tick must be called again if the codec has no
// session yet.
const tickInterval = int64(100 * time.Millisecond)

// minPingInterval is the minimum time between two pings, in nanoseconds. If the server grants a
// session timeout shorter than three times minPingInterval, the session may expire.
const minPingInterval = int64(100 * time.Millisecond)

// newCodecs returns the codecs of one event loop. Each connection has its own session, because a
// session delivers its replies in order. A codec that replaces another codec continues the other
// codec's session, possibly at another member.
func newCodecs(a store.Access, dialect Dialect) store.Codecs {
	acl := jute.OpenACL()
	auth := ""
	if a.User != "" {
		acl, auth = jute.CreatorACL(), a.User+":"+a.Password
	}
	names, timeout := newDuplicateDetector(), cmp.Or(a.SessionTimeout, sessionTimeout)
	return func(d store.ConnectionInfo) store.Codec {
		cfg := jute.Config{Timeout: int32(min(timeout/time.Millisecond, math.MaxInt32)), Auth: auth, BufferBudget: d.BufferBudget}
		if before, ok := d.Previous.(*codec); ok && !before.closed && !before.activity.sessionOver {
			cfg.Session, cfg.LastZxid = before.conn.Session(), before.conn.LastZxid()
		}
		return &codec{conn: jute.NewConn(cfg), acl: acl, dialect: dialect, newest: cfg.LastZxid, names: names, noPings: a.SessionTimeout > 0}
	}
}

// Tick implements store.Codec. It sends a ping every third of the session timeout, unless the load
// itself keeps the session alive.
func (c *codec) Tick(now int64) int64 {
	if !c.conn.Ready() {
		return now + tickInterval
	}
	third := max(int64(c.conn.Timeout())*int64(time.Millisecond)/3, minPingInterval)
	c.silence.check(now, third, c.conn.Open() > 0)
	switch {
	case now < c.pingAt:
	case c.noPings:
		c.activity.check(now, third)
		c.pingAt = now + third
	default:
		if c.pingAt != 0 {
			c.conn.Ping()
		}
		c.pingAt = now + third
	}
	step := third / checksPerThird
	return min(c.pingAt, (now/step+1)*step)
}

// checksPerThird is the number of times that a codec checks for input in each third of the session
// timeout. The checks of all connections with the same timeout are due at the same times, because
// an event loop looks through all its connections whenever one check is due.
const checksPerThird = 8

// check looks for input that has arrived since the previous call. After two thirds of the session
// timeout without input, it marks the connection as mute. While no reply is due (`expectsReply` is
// false), the server need not send anything. For such a period, check counts at most a third of the
// session timeout as time without input.
func (h *silenceDetector) check(now, third int64, expectsReply bool) {
	switch {
	case h.inputArrived || h.lastInput == 0:
		h.lastInput, h.inputArrived = now, false
	case !expectsReply:
		h.lastInput = max(h.lastInput, now-third)
	case now-h.lastInput >= 2*third:
		h.mute = true
	}
}

var errMute = errors.New("the server has sent nothing for two thirds of the session's timeout")

// CheckAlive implements store.SessionCodec.
func (c *codec) CheckAlive() error {
	if c.silence.mute {
		return errMute
	}
	return nil
}

// check finds out whether the load has sent an operation since the previous call. It must be called
// every third of the session timeout. If the load has sent nothing for two thirds of the timeout,
// check sets the field `sessionOver`: by then a live client would have sent a ping, but the session
// has not expired yet.
func (s *loadActivity) check(now, third int64) {
	if s.sent != s.lastSent || s.lastActive == 0 {
		s.lastSent, s.lastActive = s.sent, now
	}
	s.sessionOver = now-s.lastActive >= 2*third
}

// pingDone handles the reply to a ping, which renews the session for another session timeout.
func (c *codec) pingDone(r *jute.Reply, e *store.Event) {
	if r.Code != jute.OK {
		setFailure(e, r.Code)
		return
	}
	e.Count = int64(c.conn.Timeout()) / 1000
	if r.Zxid > 0 {
		e.Revision, e.StoreRevision = r.Zxid, r.Zxid
	}
}

// Close adds the request that ends the session to the output. The end of the session deletes the
// session's ephemeral nodes. After Close, the caller must not submit anything. Without Close, the
// session expires after its timeout.
func (c *codec) Close() {
	if c.conn.Ready() {
		c.conn.CloseSession(jute.Call{Sub: callClose})
	}
}

// closedEvent returns the event for the reply to Close. The member replies after it has applied the
// transaction that ends the session, so the zxid is higher than every zxid that the session saw.
// If the zxid is not higher, only that member knew the session, and the event has no revision.
func closedEvent(r *jute.Reply, before int64) store.Event {
	e := store.Event{Type: store.SessionClosed}
	switch {
	case r.Code != jute.OK:
		setFailure(&e, r.Code)
	case r.Zxid > before:
		e.StoreRevision = r.Zxid
	}
	return e
}

// Session implements store.SessionCodec.
func (c *codec) Session() int64 { return c.conn.Session().ID }
