package engine

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// The backoff before a lost connection is dialed again doubles from firstBackoff to lastBackoff.
// The actual wait is a random time between half the backoff and the whole backoff, so that the
// connections are not all dialed at the same time.
const (
	firstBackoff = 10 * millisecond
	lastBackoff  = secondNS
)

// connections manages a loop's connections. It decides which connection takes an operation, when
// and to which endpoint a place is dialed, how long a place waits after a loss, and when a
// connection is replaced. The loop owns the operations: it calls route to get a connection for an
// operation, and it sets the outcomes of the operations on a lost connection.
//
// A place is an index that clients, watchers and the schedule use to refer to a connection.
// places[p] is the index in table of the current connection of place p. For example, if there are
// two places and place 0 has moved once, places is [2 1], and table[0] is the old connection, which
// is draining.
//
// Invariant: table[places[p]].place == p, and that connection has moved == false.
//
// Invariant: each connection in table is the current connection of a place, or is draining (moved),
// or is listed in spare.
type connections struct {
	poller          poll.Poller
	codecs          store.Codecs
	memberAt        func(endpoint string) uint64
	changed         func(term uint64, lost bool)
	singleUse       bool // each operation has its own connection (Config.NewConnection)
	operationPlaces int  // operations use places below this number; only watchers use the others
	seed            uint64
	parts           *parts.Budget // memory budget for the incomplete replies of all connections
	slots           *slots

	table      []*conn
	places     []int // by place: index of its current connection in table
	spare      []int // indexes of ended connections that no place uses, for reuse
	dirty      []int // indexes of connections that may have output
	lastRouted int   // the last place that the method `route` chose instead of the requested one

	tickAt   int64 // earliest time at which a codec's Tick is due
	redialAt int64 // earliest time at which a place must be dialed

	// Scratch buffer for the events of connections that end without open operations. Nothing reads
	// these events.
	discard []store.Event

	maxTerm          uint64
	epoch            atomic.Uint64 // the term set by Loop.Epoch
	memberByEndpoint map[string]uint64
	links            links

	bytesIn, bytesOut uint64 // in the current second
	reconnects        uint64
	expired           uint64 // expired sessions
}

func (cs *connections) init(cfg *Config, p poll.Poller, ops *slots) {
	*cs = connections{
		poller: p, codecs: cfg.Codecs, memberAt: cfg.MemberAt, changed: cfg.OnClusterChange,
		singleUse: cfg.NewConnection, operationPlaces: len(cfg.Endpoints) - cfg.WatchOnly, seed: cfg.Seed,
		parts: parts.New(cfg.MaxBuffered), slots: ops,
		tickAt: never, redialAt: never, memberByEndpoint: map[string]uint64{},
	}
	for i, e := range cfg.Endpoints {
		cs.table = append(cs.table, &conn{place: i, endpoint: e, nextEndpoint: e})
		cs.places = append(cs.places, i)
	}
}

// dialAll dials every connection, except those for single operations, which are dialed when an
// operation arrives.
func (cs *connections) dialAll() {
	for i, c := range cs.table {
		if c.redialAt = never; !cs.singleUse {
			cs.dial(i)
		}
	}
}

// allReady reports whether all connections accept operations. If some of them do not, `why` is the
// error text for one of these connections. err is set if a connection could not be dialed.
func (cs *connections) allReady() (ready bool, why string, err error) {
	ready = true
	if cs.singleUse {
		return true, "", nil
	}
	for _, c := range cs.table {
		if c.state == down && c.err != nil {
			return false, "", c.err
		}
		if c.state != up || c.codec.Room() == 0 {
			ready, why = false, fmt.Sprintf("could not connect to %s in time", c.endpoint)
		}
	}
	return ready, why, nil
}

// dial starts to connect a place to its endpoint (conn.nextEndpoint).
func (cs *connections) dial(i int) {
	c := cs.table[i]
	c.state, c.endpoint, c.wrongEndpoint, c.redialAt = dialing, c.nextEndpoint, false, never
	c.dials++
	cs.poller.Dial(i, c.endpoint)
}

// finishDial processes the result of a dial, and reports whether the place is connected.
func (cs *connections) finishDial(i int, err error, now int64) bool {
	c := cs.table[i]
	switch {
	case c.state != dialing:
		return false
	case err == nil && c.nextEndpoint != c.endpoint:
		cs.poller.Close(i)
		cs.dial(i)
		return false
	case err != nil:
		c.err = err
		cs.scheduleRedial(i, now)
		return false
	}
	cs.links.add(c, now)
	c.state, c.err, c.blocked, c.hasReplied, c.member = up, nil, false, false, cs.memberAt(c.endpoint)
	before := c.codec
	if cs.singleUse {
		before = nil
	}
	c.codec, c.tick = cs.codecs(store.ConnectionInfo{Endpoint: c.endpoint, Now: now, Previous: before, BufferBudget: cs.parts}), 0
	c.unsent, c.bytesWritten = c.unsent[:0], 0
	return true
}

// scheduleRedial schedules the next dial of a place after its backoff.
func (cs *connections) scheduleRedial(i int, now int64) {
	c := cs.table[i]
	cs.links.remove(c, true, now)
	c.state = down
	c.backoff = min(max(c.backoff*2, firstBackoff), lastBackoff)
	wait := c.backoff/2 + int64(keys.RandomUnit(cs.seed+uint64(i), c.dials)*float64(c.backoff/2))
	c.redialAt = now + wait
	cs.redialAt = min(cs.redialAt, c.redialAt)
}

// redialDue calls continuePlace for each place whose wait has ended.
func (cs *connections) redialDue(now int64) {
	if now < cs.redialAt {
		return
	}
	cs.redialAt = never
	for i, c := range cs.table {
		switch {
		case c.state != down && c.state != ending:
		case now >= c.redialAt:
			cs.continuePlace(i, now)
		default:
			cs.redialAt = min(cs.redialAt, c.redialAt)
		}
	}
}

// continuePlace continues after the wait of a place: it finishes closing the connection, or dials.
func (cs *connections) continuePlace(i int, now int64) {
	switch {
	case cs.table[i].state == ending:
		cs.finishEnding(i, now)
	case cs.singleUse:
		cs.dialForNext(i, now)
	default:
		cs.dial(i)
	}
}

// tick calls a codec's Tick if the call is due, and reports whether it called Tick.
func (cs *connections) tick(i int, now int64) (ticked bool) {
	c := cs.table[i]
	if c.state != up {
		return false
	}
	if ticked = c.tick == 0 || now >= c.tick; ticked {
		if c.tick = c.codec.Tick(now); c.tick == 0 {
			c.tick = never
		}
	}
	cs.tickAt = min(cs.tickAt, c.tick)
	return ticked
}

// touch marks a connection whose codec may have output.
func (cs *connections) touch(i int) {
	if c := cs.table[i]; !c.dirty {
		c.dirty = true
		cs.dirty = append(cs.dirty, i)
	}
}

// route returns a connection that accepts an operation now. It prefers the connection of the given
// place and otherwise tries the other places in turn. ok is false if no connection accepts an
// operation.
func (cs *connections) route(place int) (int, bool) {
	if place >= 0 {
		if i := cs.places[place]; cs.accepts(i) {
			return i, true
		}
	}
	for range cs.operationPlaces {
		cs.lastRouted++
		if cs.lastRouted >= cs.operationPlaces {
			cs.lastRouted = 0
		}
		if i := cs.places[cs.lastRouted]; cs.accepts(i) {
			return i, true
		}
	}
	return 0, false
}

// accepts reports whether a connection accepts an operation now.
func (cs *connections) accepts(i int) bool {
	c := cs.table[i]
	if cs.singleUse {
		return c.vacant()
	}
	return c.ready()
}

// noteReply records the member and the term that a reply contains.
func (cs *connections) noteReply(c *conn, ev *store.Event) {
	if isReply(ev) {
		c.hasReplied = true
	}
	if ev.Member != 0 && c.member != ev.Member {
		c.member = ev.Member
		cs.memberByEndpoint[c.endpoint] = ev.Member
	}
	if ev.Term > cs.maxTerm {
		cs.maxTerm = ev.Term
		cs.changed(ev.Term, false)
	}
}

// currentTerm returns the term to record for an operation that is sent now.
func (cs *connections) currentTerm() uint64 { return max(cs.maxTerm, cs.epoch.Load()) }

// closeBroken closes a lost connection, and reports whether the connection was up. If the
// connection was up, the caller must set the outcomes of its operations and then call finishLoss,
// which decides what happens to the place.
func (cs *connections) closeBroken(i int, why error) bool {
	c := cs.table[i]
	if c.state != up {
		return false
	}
	cs.poller.Close(i)
	c.state, c.err = ending, why
	if c.hasReplied {
		c.backoff = 0
	}
	return true
}

// finishLoss completes the work of closeBroken. If the place already has a new connection,
// finishLoss retires the lost one. Otherwise the place is dialed again: at once if the load has
// moved it to another endpoint, and after a wait if not.
func (cs *connections) finishLoss(i int, now int64) {
	c := cs.table[i]
	cs.slots.releaseLate(i)
	c.state, c.open, c.late = down, 0, 0
	if cs.singleUse {
		c.codec = nil
	}
	if c.moved {
		cs.retire(i)
		return
	}
	cs.reconnects++
	if c.nextEndpoint != c.endpoint && !cs.singleUse {
		cs.dial(i)
		return
	}
	cs.scheduleRedial(i, now)
	if cs.singleUse && len(c.queue) == 0 {
		c.redialAt = never // the place is vacant: no operation waits for it
	}
	cs.changed(0, true)
}

// errUnproven explains why the next dial of a connection waits.
var errUnproven = errors.New("closes each connection without sending a response")

// replace replaces a connection that must end and has no open operations. If the server ended the
// connection (Draining) before it had sent any reply, the next dial waits, because the server would
// probably end the next connection in the same way.
func (cs *connections) replace(i int, now int64) {
	c := cs.table[i]
	ends := c.codec.Draining()
	cs.poller.Close(i)
	// No operation is open, but the codec may have to cancel a login that other connections share.
	cs.discard = c.codec.Lost(cs.discard[:0])
	cs.slots.releaseLate(i)
	c.open, c.late = 0, 0
	cs.reconnects++
	if c.nextEndpoint == c.endpoint && ends && !c.hasReplied {
		c.err = fmt.Errorf("%s %w", c.endpoint, errUnproven)
		cs.scheduleRedial(i, now)
		return
	}
	c.backoff = 0
	cs.dial(i)
}

// downError returns the error of the first place that is not connected and has an error.
func (cs *connections) downError() error {
	for _, c := range cs.table {
		if (c.state == down || c.state == ending) && c.err != nil {
			return c.err
		}
	}
	return nil
}

// countUp returns the number of places that are connected.
func (cs *connections) countUp() (n int) {
	for _, i := range cs.places {
		n += countTrue(cs.table[i].state == up)
	}
	return n
}

// closeAll closes all connections.
func (cs *connections) closeAll() {
	for i := range cs.table {
		cs.close(i)
	}
}

// close closes a connection and does not dial it again.
func (cs *connections) close(i int) {
	if c := cs.table[i]; c.state != down {
		cs.poller.Close(i)
		c.state = down
	}
}

// report adds the connections' totals to the result.
func (cs *connections) report(r *Result) {
	r.Reconnects, r.ExpiredSessions, r.MemberByEndpoint = cs.reconnects, cs.expired, cs.memberByEndpoint
	r.Links, r.LinkChanges = cs.links.opened, cs.links.changes
}
