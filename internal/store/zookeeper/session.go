package zookeeper

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// sessionTimeout is the requested session timeout. It is longer than an election or a short pause
// of a member; the server may grant less.
const sessionTimeout = 30 * time.Second

// lookAgain is the interval, in nanoseconds, at which a codec without a granted session wants to
// be called.
const lookAgain = int64(100 * time.Millisecond)

// leastPing is the minimum time between two pings, in nanoseconds. If the server grants a session
// timeout shorter than three of these, the server expires the session.
const leastPing = int64(100 * time.Millisecond)

// newCodecs returns the codecs of one event loop. Each connection has its own session because a
// session replies in order. A codec that replaces another one continues its session, possibly at
// another member.
func newCodecs(a store.Access, dialect Dialect) store.Codecs {
	acl := jute.OpenACL()
	auth := ""
	if a.User != "" {
		acl, auth = jute.CreatorACL(), a.User+":"+a.Password
	}
	names, timeout := newNames(), cmp.Or(a.SessionTimeout, sessionTimeout)
	return func(d store.Dialed) store.Codec {
		cfg := jute.Config{Timeout: int32(min(timeout/time.Millisecond, math.MaxInt32)), Auth: auth, Parts: d.Parts}
		if before, ok := d.Previous.(*codec); ok && !before.closed && !before.load.over {
			cfg.Session, cfg.LastZxid = before.conn.Session(), before.conn.LastZxid()
		}
		return &codec{conn: jute.NewConn(cfg), acl: acl, dialect: dialect, newest: cfg.LastZxid, names: names, quiet: a.SessionTimeout > 0}
	}
}

// Tick implements store.Codec. It sends a ping every third of the session's timeout, unless the
// load keeps the session alive.
func (c *codec) Tick(now int64) int64 {
	if !c.conn.Ready() {
		return now + lookAgain
	}
	third := max(int64(c.conn.Timeout())*int64(time.Millisecond)/3, leastPing)
	c.hearing.look(now, third, c.conn.Open() > 0)
	switch {
	case now < c.pingAt:
	case c.quiet:
		c.load.look(now, third)
		c.pingAt = now + third
	default:
		if c.pingAt != 0 {
			c.conn.Ping()
		}
		c.pingAt = now + third
	}
	step := third / looks
	return min(c.pingAt, (now/step+1)*step)
}

// looks is the number of times per third of the session timeout at which a codec checks for
// input. All connections check at the same times because a loop calls all codecs whenever one has
// to act.
const looks = 8

// look records whether input arrived since the previous call. A connection without an open
// request cannot expect input; the time until it counts as mute is then at least a third of the
// timeout.
func (h *hearing) look(now, third int64, awaits bool) {
	switch {
	case h.heard || h.at == 0:
		h.at, h.heard = now, false
	case !awaits:
		h.at = max(h.at, now-third)
	case now-h.at >= 2*third:
		h.mute = true
	}
}

var errMute = errors.New("the server has sent nothing for two thirds of the session's timeout")

// Mute implements store.SessionCodec.
func (c *codec) Mute() error {
	if c.hearing.mute {
		return errMute
	}
	return nil
}

// look records whether the load sent an operation since the previous call, every third of the
// session timeout. It sets over before the session expires and not before two thirds of the
// timeout have passed, by when a live client has sent a ping.
func (s *signs) look(now, third int64) {
	if s.sent != s.seen || s.at == 0 {
		s.seen, s.at = s.sent, now
	}
	s.over = now-s.at >= 2*third
}

// pingDone handles the response to a ping, which renews the session for another timeout.
func (c *codec) pingDone(r *jute.Reply, e *store.Event) {
	if r.Code != jute.OK {
		failed(e, r.Code)
		return
	}
	e.Count = int64(c.conn.Timeout()) / 1000
	if r.Zxid > 0 {
		e.Revision, e.At = r.Zxid, r.Zxid
	}
}

// Close ends the session and its ephemeral nodes: it adds the request to the output. The caller
// must not submit anything after it. A session that is not closed expires after its timeout.
func (c *codec) Close() {
	if c.conn.Ready() {
		c.conn.CloseSession(jute.Call{Sub: callClose})
	}
}

// closed returns the event for the response to Close. The member responds after it has applied
// the transaction; its zxid must be later than every zxid that the session saw. Otherwise only
// that member knew the session, and the event carries no revision.
func closed(r *jute.Reply, before int64) store.Event {
	e := store.Event{What: store.Closed}
	switch {
	case r.Code != jute.OK:
		failed(&e, r.Code)
	case r.Zxid > before:
		e.At = r.Zxid
	}
	return e
}

// Session implements store.SessionCodec.
func (c *codec) Session() int64 { return c.conn.Session().ID }
