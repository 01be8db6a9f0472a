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

// The wait before a lost connection is dialled again doubles from the first to
// the last, and is drawn from its upper half so that connections do not come
// back in step.
const (
	firstBackoff = 10 * millisecond
	lastBackoff  = secondNS
)

// connections is a loop's connections and the policy that keeps them: which of
// them takes an operation, when one is dialled, how long it waits after a loss,
// when another takes its place, and where it goes when the load moves.
// Operations are the loop's: it asks, and gives those of a connection that broke
// their outcomes.
type connections struct {
	poller   poll.Poller
	codecs   store.Codecs
	memberAt func(endpoint string) uint64
	changed  func(term uint64, lost bool)
	brief    bool // each operation has a connection of its own
	forOps   int  // places that take operations: the first ones
	seed     uint64
	parts    *parts.Budget // of answers that are not whole, on all connections
	ops      *slots

	table  []*conn
	places []int // the connection that a place has now
	spare  []int // connections that have ended and belong to no place
	dirty  []int // connections with something to write
	last   int   // the place used last instead of another

	tickAt   int64 // when the first codec wants to act
	redialAt int64 // when the first place is to be dialled

	discard []store.Event // of connections that end with nothing open

	maxTerm  uint64
	epoch    atomic.Uint64 // Loop.Epoch
	memberOf map[string]uint64
	links    links

	bytesIn, bytesOut uint64 // of the current second
	reconnects        uint64
	expired           uint64 // sessions
}

func (cs *connections) init(cfg *Config, p poll.Poller, ops *slots) {
	*cs = connections{
		poller: p, codecs: cfg.Codecs, memberAt: cfg.MemberAt, changed: cfg.Changed,
		brief: cfg.NewConnection, forOps: len(cfg.Endpoints) - cfg.WatchOnly, seed: cfg.Seed,
		parts: parts.New(cfg.MaxHeld), ops: ops,
		tickAt: never, redialAt: never, memberOf: map[string]uint64{},
	}
	for i, e := range cfg.Endpoints {
		cs.table = append(cs.table, &conn{place: i, endpoint: e, want: e})
		cs.places = append(cs.places, i)
	}
}

// dialAll dials every connection. One of one operation waits for that.
func (cs *connections) dialAll() {
	for i, c := range cs.table {
		if c.redialAt = never; !cs.brief {
			cs.dial(i)
		}
	}
}

// allReady reports whether all connections can take operations. If not, the
// sentence is about one that cannot, and err is why one could not be dialled.
func (cs *connections) allReady() (ready bool, why string, err error) {
	ready = true
	if cs.brief {
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

func (cs *connections) dial(i int) {
	c := cs.table[i]
	c.state, c.endpoint, c.misled, c.redialAt = dialing, c.want, false, never
	c.dials++
	cs.poller.Dial(i, c.endpoint)
}

// dialed takes the end of a dial, and reports whether there is a connection.
func (cs *connections) dialed(i int, err error, now int64) bool {
	c := cs.table[i]
	switch {
	case c.state != dialing:
		return false
	case err == nil && c.want != c.endpoint:
		cs.poller.Close(i)
		cs.dial(i)
		return false
	case err != nil:
		c.err = err
		cs.redialLater(i, now)
		return false
	}
	cs.links.add(c, now)
	c.state, c.err, c.blocked, c.proven, c.member = up, nil, false, false, cs.memberAt(c.endpoint)
	before := c.codec
	if cs.brief {
		before = nil
	}
	c.codec, c.tick = cs.codecs(store.Dialed{Endpoint: c.endpoint, Now: now, Previous: before, Parts: cs.parts}), 0
	c.unsent, c.wrote = c.unsent[:0], 0
	return true
}

func (cs *connections) redialLater(i int, now int64) {
	c := cs.table[i]
	cs.links.remove(c, true, now)
	c.state = down
	c.backoff = min(max(c.backoff*2, firstBackoff), lastBackoff)
	wait := c.backoff/2 + int64(keys.RandomUnit(cs.seed+uint64(i), c.dials)*float64(c.backoff/2))
	c.redialAt = now + wait
	cs.redialAt = min(cs.redialAt, c.redialAt)
}

// redialDue dials the places whose wait is over.
func (cs *connections) redialDue(now int64) {
	if now < cs.redialAt {
		return
	}
	cs.redialAt = never
	for i, c := range cs.table {
		switch {
		case c.state != down && c.state != parting:
		case now >= c.redialAt:
			cs.goOn(i, now)
		default:
			cs.redialAt = min(cs.redialAt, c.redialAt)
		}
	}
}

// goOn does what a place has waited for.
func (cs *connections) goOn(i int, now int64) {
	switch {
	case cs.table[i].state == parting:
		cs.parted(i, now)
	case cs.brief:
		cs.launch(i, now)
	default:
		cs.dial(i)
	}
}

// tick lets a codec act on time, and reports whether it did.
func (cs *connections) tick(i int, now int64) (acted bool) {
	c := cs.table[i]
	if c.state != up {
		return false
	}
	if acted = c.tick == 0 || now >= c.tick; acted {
		if c.tick = c.codec.Tick(now); c.tick == 0 {
			c.tick = never
		}
	}
	cs.tickAt = min(cs.tickAt, c.tick)
	return acted
}

// touch notes that a connection may have something to write.
func (cs *connections) touch(i int) {
	if c := cs.table[i]; !c.dirty {
		c.dirty = true
		cs.dirty = append(cs.dirty, i)
	}
}

// route returns the connection that an operation's place has; if that takes
// nothing, the others in turn.
func (cs *connections) route(place int) (int, bool) {
	if place >= 0 {
		if i := cs.places[place]; cs.takes(i) {
			return i, true
		}
	}
	for range cs.forOps {
		cs.last++
		if cs.last >= cs.forOps {
			cs.last = 0
		}
		if i := cs.places[cs.last]; cs.takes(i) {
			return i, true
		}
	}
	return 0, false
}

// takes reports whether a connection takes an operation now.
func (cs *connections) takes(i int) bool {
	c := cs.table[i]
	if cs.brief {
		return c.vacant()
	}
	return c.ready()
}

// note keeps what an answer says about its member and term.
func (cs *connections) note(c *conn, ev *store.Event) {
	if answered(ev) {
		c.proven = true
	}
	if ev.Member != 0 && c.member != ev.Member {
		c.member = ev.Member
		cs.memberOf[c.endpoint] = ev.Member
	}
	if ev.Term > cs.maxTerm {
		cs.maxTerm = ev.Term
		cs.changed(ev.Term, false)
	}
}

// term is that of an operation that is sent now.
func (cs *connections) term() uint64 { return max(cs.maxTerm, cs.epoch.Load()) }

// broke ends a connection that broke, and reports whether it was there. Its
// operations get their outcomes next; then settle says how its place goes on.
func (cs *connections) broke(i int, why error) bool {
	c := cs.table[i]
	if c.state != up {
		return false
	}
	cs.poller.Close(i)
	c.state, c.err = parting, why
	if c.proven {
		c.backoff = 0
	}
	return true
}

// settle ends what broke began: the place is dialled again, at once where the
// load has moved and else after a wait.
func (cs *connections) settle(i int, now int64) {
	c := cs.table[i]
	cs.ops.releaseLate(i)
	c.state, c.open, c.late = down, 0, 0
	if cs.brief {
		c.codec = nil
	}
	if c.moved {
		cs.retire(i)
		return
	}
	cs.reconnects++
	if c.want != c.endpoint && !cs.brief {
		cs.dial(i)
		return
	}
	cs.redialLater(i, now)
	if cs.brief && len(c.queue) == 0 {
		c.redialAt = never // vacant
	}
	cs.changed(0, true)
}

// errUnproven is why a connection is not made again at once.
var errUnproven = errors.New("ends each connection before it answers anything")

// replace ends a connection that has nothing open and is to leave. Where it is
// the server that wants that and has answered nothing, the next one waits: it
// would end likewise.
func (cs *connections) replace(i int, now int64) {
	c := cs.table[i]
	ends := c.codec.Draining()
	cs.poller.Close(i)
	// Nothing is open; the codec may share a login that it must give up.
	cs.discard = c.codec.Lost(cs.discard[:0])
	cs.ops.releaseLate(i)
	c.open, c.late = 0, 0
	cs.reconnects++
	if c.want == c.endpoint && ends && !c.proven {
		c.err = fmt.Errorf("%s %w", c.endpoint, errUnproven)
		cs.redialLater(i, now)
		return
	}
	c.backoff = 0
	cs.dial(i)
}

// whyDown is why a place has no connection, of the first that has none.
func (cs *connections) whyDown() error {
	for _, c := range cs.table {
		if (c.state == down || c.state == parting) && c.err != nil {
			return c.err
		}
	}
	return nil
}

// up is how many places are connected.
func (cs *connections) up() (n int) {
	for _, i := range cs.places {
		n += btoi(cs.table[i].state == up)
	}
	return n
}

// closeAll ends the connections that there are.
func (cs *connections) closeAll() {
	for i := range cs.table {
		cs.close(i)
	}
}

// close ends a connection for good.
func (cs *connections) close(i int) {
	if c := cs.table[i]; c.state != down {
		cs.poller.Close(i)
		c.state = down
	}
}

// report writes what is known at the end.
func (cs *connections) report(r *Result) {
	r.Reconnects, r.Expired, r.MemberOf = cs.reconnects, cs.expired, cs.memberOf
	r.Links, r.LinkChanges = cs.links.opened, cs.links.changes
}
