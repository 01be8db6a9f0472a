package zookeeper

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// sessionTimeout is what a session asks for. It outlives an election and a
// member that is paused for a while; the server may grant less.
const sessionTimeout = 30 * time.Second

// lookAgain is when a codec whose session is not granted yet wants to be
// called again, in nanoseconds.
const lookAgain = int64(100 * time.Millisecond)

// leastPing is the shortest time between two pings, in nanoseconds, whatever the
// session's timeout: a server that grants less than three of these ends the
// session itself.
const leastPing = int64(100 * time.Millisecond)

// newCodecs returns the codecs of one event loop. Each connection has a session
// of its own, because a session answers in order. The codec that takes the
// place of another takes up its session, perhaps at another member.
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

// Tick implements store.Codec: a ping at each third of the session's timeout, unless the
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

// looks is how often in a third of a session's timeout it is looked whether something came:
// on all connections at the same times, because a loop asks all whenever one is to act.
const looks = 8

// look takes what came since the last look. Who has asked for nothing has heard nothing,
// and waits for a third of the timeout before it is held to be long.
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

var errMute = errors.New("the server has said nothing for two thirds of the session's timeout")

// Mute implements store.SessionCodec.
func (c *codec) Mute() error {
	if c.hearing.mute {
		return errMute
	}
	return nil
}

// look takes what was sent since the last look, each third of the session's timeout. Over
// is so by when that ends, and not before two thirds of it, in which who lives has sent a
// ping.
func (s *signs) look(now, third int64) {
	if s.sent != s.seen || s.at == 0 {
		s.seen, s.at = s.sent, now
	}
	s.over = now-s.at >= 2*third
}

// pingDone takes the answer to a ping: the session lives as long again.
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

// Close ends the session for good, with its ephemeral nodes: it adds the
// request to the output. Nothing may be submitted after it. A session that is
// not closed ends by itself when its timeout is over.
func (c *codec) Close() {
	if c.conn.Ready() {
		c.conn.CloseSession(jute.Call{Sub: callClose})
	}
}

// closed is the answer to that. It comes when the member has done the transaction, and has
// its zxid, which is later than what the session had seen before. Else it is none: the
// session was known to that member alone.
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
