package engine

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// ephemeralKey is a key that the store deletes when the session of a place's connection ends.
type ephemeralKey struct {
	ref            uint64
	earliestCreate int64 // the key was not created before this time
	// createRevision is the revision at which the key was created, and session is the server's
	// number for the session that created it. createRevision is 0 if no reply confirmed the
	// creation.
	createRevision, session int64
}

// noteEphemeral records a key that an operation created or may have created, if the load has a
// history.
func (l *Loop) noteEphemeral(sl *slot, outcome kv.Outcome, ev *store.Event) {
	if !sl.ephemeral || sl.conn < 0 || outcome != kv.OK && (!outcome.Failed() || outcome.Definite()) {
		return
	}
	if l.ephemeralKeys == nil {
		l.ephemeralKeys = make([][]ephemeralKey, len(l.conns.places))
	}
	c := l.conns.table[sl.conn]
	o := ephemeralKey{ref: sl.ref, earliestCreate: sl.earliestSend()}
	if s, ok := c.codec.(store.SessionCodec); ok && outcome == kv.OK {
		o.createRevision, o.session = max(ev.StoreRevision, 0), s.Session()
	}
	l.ephemeralKeys[c.place] = append(l.ephemeralKeys[c.place], o)
}

// reportPossibleEnd reports to the history that the keys of a connection's session may have been
// deleted. If the session was closed, its keys may be deleted at any time after now. If the
// connection was lost, it is unknown when the server last heard from the session, so the keys may
// have expired at any time since they were created.
func (l *Loop) reportPossibleEnd(i int, closed bool) {
	if l.ephemeralKeys == nil {
		return
	}
	place := l.conns.table[i].place
	for _, o := range l.ephemeralKeys[place] {
		from := o.earliestCreate
		if closed {
			from = l.now
		}
		l.cfg.History.KeyMayBeDeleted(o.ref, l.placeSession(place), from, l.now)
	}
}

// placeSession returns the number that identifies a place's session across all shards.
func (l *Loop) placeSession(place int) uint32 {
	return l.sched.globalNumber(uint32(place))
}

// closingSession is the state of a session that the loop is closing.
type closingSession struct {
	session   int64
	closeSent int64
	awaited   bool
}

// closeAll closes the connections. Before that, it closes each session that would otherwise outlive
// its connection, provided that the socket's buffer has space for the request. If the load has a
// history that checks the session's keys, closeAll waits up to maxEndWait for the server's reply.
func (l *Loop) closeAll() {
	sessions := make([]closingSession, len(l.conns.table))
	l.ready = l.ready[:0]
	for i, c := range l.conns.table {
		s, ok := c.codec.(store.SessionCodec)
		if !ok || c.state != up {
			continue
		}
		l.reportPossibleEnd(i, true)
		sessions[i].session, sessions[i].closeSent = s.Session(), l.poller.Now()
		s.Close()
		l.flush(i)
		if l.ephemeralKeys != nil && c.state == up && l.hasKeyOf(c.place, sessions[i].session) {
			sessions[i].awaited = true
			// A reply may already have been received but not read.
			l.ready = append(l.ready, poll.Ready{Conn: i})
		}
	}
	for i := range sessions {
		if !sessions[i].awaited {
			l.conns.close(i)
		}
	}
	l.awaitClosed(sessions, len(l.ready))
	l.conns.closeAll()
}

// awaitClosed reads until n sessions have ended or maxEndWait has passed. It ignores all events
// except the end of a session.
func (l *Loop) awaitClosed(sessions []closingSession, n int) {
	until := l.poller.Now() + maxEndWait
	for n > 0 && l.poller.Now() < until {
		for _, r := range l.ready {
			if s := &sessions[r.Conn]; s.awaited && l.readEnd(r.Conn, s, r.Reason, until) {
				s.awaited = false
				n--
				l.conns.close(r.Conn)
			}
		}
		if n > 0 {
			l.ready = l.poller.Wait(until, l.ready[:0])
		}
	}
}

// hasKeyOf reports whether a reply has confirmed that the given session created a key of the place.
func (l *Loop) hasKeyOf(place int, session int64) bool {
	return session != 0 && slices.ContainsFunc(l.ephemeralKeys[place], func(o ephemeralKey) bool { return o.createRevision > 0 && o.session == session })
}

// readEnd processes input from a connection whose session is being closed. It reports whether the
// wait is over: the session has ended, the connection is lost, or the time `deadline` has passed.
func (l *Loop) readEnd(i int, s *closingSession, what poll.ReadyReason, deadline int64) (done bool) {
	c := l.conns.table[i]
	switch {
	case c.state != up:
		return true
	case what == poll.Writable:
		c.blocked = false
		l.flush(i)
		return c.state != up
	}
	for l.poller.Now() < deadline {
		n, err := l.poller.Read(i, l.buf)
		if err != nil {
			return err != poll.ErrAgain
		}
		l.conns.bytesIn += uint64(n)
		l.events, err = c.codec.Feed(l.buf[:n], l.events[:0])
		for k := range l.events {
			if ev := &l.events[k]; ev.Type == store.SessionClosed {
				l.reportSessionEnd(c, s, ev)
				return true
			}
		}
		if err != nil {
			return true
		}
	}
	return true
}

// reportSessionEnd reports to the history that a session's keys were deleted, if the server's reply
// contains the revision of the deletion.
func (l *Loop) reportSessionEnd(c *conn, s *closingSession, ev *store.Event) {
	if ev.Outcome != kv.OK || ev.StoreRevision <= 0 || s.session == 0 {
		return
	}
	now := l.poller.Now()
	for _, o := range l.ephemeralKeys[c.place] {
		if o.createRevision <= 0 || o.session != s.session {
			continue
		}
		l.cfg.History.SessionEnded(o.ref, &history.Op{
			Kind: kv.Ephemeral, Session: l.placeSession(c.place), Member: c.member,
			Invoked: s.closeSent, Done: now, Revision: ev.StoreRevision, ModRevision: o.createRevision,
		})
	}
}
