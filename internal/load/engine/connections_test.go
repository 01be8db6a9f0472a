package engine

import (
	"errors"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// policy is a value of type connections for tests that have no loop.
type policy struct {
	connections
	ops     slots
	sim     *sim
	codecs  []*simCodec
	changes int // number of calls of Config.OnClusterChange with lost set
}

// newPolicy returns a policy whose places have the endpoint "a".
func newPolicy(places int, brief bool) *policy {
	p := &policy{ops: newSlots(16), sim: newSim(places)}
	cfg := Config{
		NewConnection: brief,
		MemberAt:      func(string) uint64 { return 0 },
		OnClusterChange: func(_ uint64, lost bool) {
			if lost {
				p.changes++
			}
		},
		Codecs: func(store.ConnectionInfo) store.Codec {
			p.codecs = append(p.codecs, newSimCodec(1))
			return p.codecs[len(p.codecs)-1]
		},
	}
	for range places {
		cfg.Endpoints = append(cfg.Endpoints, "a")
	}
	p.init(&cfg, p.sim, &p.ops)
	return p
}

// connect completes the dial of connection i.
func (p *policy) connect(t *testing.T, i int) *conn {
	t.Helper()
	if p.table[i].state == down {
		p.dial(i)
	}
	if !p.finishDial(i, nil, p.sim.now) {
		t.Fatalf("connection %d is not up after its dial", i)
	}
	return p.table[i]
}

// queued adds an operation to the queue of connection i.
func (p *policy) queued(i int, n uint64) uint32 {
	tag := p.ops.take()
	p.ops.table[tag] = slot{n: n, conn: int32(i), client: 0, state: waiting}
	p.ops.link(tag, 1)
	p.table[i].queue = append(p.table[i].queue, waiter{tag, n})
	return tag
}

// The wait before a redial doubles with each dial until it reaches its limit. A reply resets the
// wait. A connection that ends without a reply does not reset it.
func TestBackoffDoublesUntilAReply(t *testing.T) {
	p := newPolicy(1, false)
	c := p.table[0]
	p.dial(0)
	for k, want := 0, int64(firstBackoff); k < 10; k++ {
		now := p.sim.now
		p.finishDial(0, errRefused, now)
		if wait := c.redialAt - now; wait < want/2 || wait > want || p.redialAt != c.redialAt {
			t.Fatalf("dial %d is repeated after %d ns; the longest wait is %d", k, wait, want)
		}
		p.redialDue(c.redialAt - 1)
		if c.state != down {
			t.Fatal("the place was dialed before its redial time")
		}
		p.redialDue(c.redialAt)
		if c.state != dialing {
			t.Fatal("the place was not dialed at its redial time")
		}
		want = min(2*want, lastBackoff)
	}
	p.connect(t, 0)
	p.closeBroken(0, errRefused)
	p.finishLoss(0, p.sim.now)
	if c.backoff != lastBackoff || p.changes != 1 || p.reconnects != 1 {
		t.Errorf("a connection without a reply: backoff %d, %d changes, %d reconnects", c.backoff, p.changes, p.reconnects)
	}
	p.connect(t, 0)
	p.noteReply(c, &store.Event{Outcome: kv.OK})
	p.closeBroken(0, errRefused)
	p.finishLoss(0, p.sim.now)
	if c.backoff != firstBackoff {
		t.Errorf("backoff %d after a reply", c.backoff)
	}
	if p.closeBroken(0, errRefused) {
		t.Error("a connection that was down was closed again")
	}
}

// If a server closes a connection before it has sent a reply, the next dial waits. If the server
// has already sent a reply, the place is dialed again at once.
func TestReplaceWaitsIfTheServerHasNotReplied(t *testing.T) {
	for _, proven := range []bool{false, true} {
		p := newPolicy(1, false)
		c := p.connect(t, 0)
		c.hasReplied = proven
		p.codecs[0].left = -1 // draining
		p.replace(0, p.sim.now)
		if waits := c.state == down && errors.Is(c.err, errUnproven) && c.redialAt > p.sim.now; waits == proven {
			t.Errorf("server has replied %v: state %d, error %v", proven, c.state, c.err)
		}
	}
}

// When a place moves, the operations that are open on its old connection stay there, and the
// place's queue moves to the new connection. The index of a retired connection is reused.
func TestDetachTakesTheQueue(t *testing.T) {
	p := newPolicy(2, false)
	old := p.connect(t, 0)
	p.connect(t, 1)
	old.open = 1
	tag := p.queued(0, 5)
	stale := p.queued(0, 6)
	p.ops.table[stale].n = 7 // the tag has been reused
	if got := p.retarget(0, "b", p.sim.now); got != mustDrain {
		t.Fatalf("retarget: %d", got)
	}
	p.detach(0, p.sim.now)
	if p.places[0] != 2 || p.places[1] != 1 || !old.moved || old.state != up || len(old.queue) != 0 {
		t.Errorf("places %v, old %+v", p.places, old)
	}
	next := p.table[2]
	if next.state != dialing || next.endpoint != "b" || len(next.queue) != 2 || p.ops.table[tag].conn != 2 || p.ops.table[stale].conn != 0 {
		t.Errorf("next %+v", next)
	}
	p.retire(0)
	if old.state != down || len(p.spare) != 1 || p.changes != 0 {
		t.Errorf("old %+v, spare %v", old, p.spare)
	}
	p.table[1].open = 1
	p.retarget(1, "b", p.sim.now)
	p.detach(1, p.sim.now)
	if p.places[1] != 0 || len(p.spare) != 0 || len(p.table) != 3 {
		t.Errorf("places %v, spare %v", p.places, p.spare)
	}
}

// A place without open operations moves to its new endpoint at once, whatever its state is.
func TestRetargetDialsAtOnce(t *testing.T) {
	p := newPolicy(4, false)
	p.connect(t, 0)
	p.dial(1)
	p.dial(2)
	p.finishDial(2, errRefused, p.sim.now)
	for place, want := range []moveStep{mustReplace, nothingOpen, nothingOpen, nothingOpen} {
		if got := p.retarget(place, "b", p.sim.now); got != want {
			t.Errorf("place %d: retarget returned %d", place, got)
		}
	}
	p.replace(0, p.sim.now)
	for i, c := range p.table[:3] {
		if c.state != dialing || c.endpoint != "b" {
			t.Errorf("connection %d: state %d, endpoint %s, want dialing to b", i, c.state, c.endpoint)
		}
	}
	if p.retarget(0, "b", p.sim.now) != nothingOpen || p.table[0].dials != 2 {
		t.Error("a place moved to its own endpoint")
	}
}

// An operation uses the connection of its place. If this connection accepts no operation, the
// connections of the other places are used in turn.
func TestRouteTakesOtherPlacesInTurn(t *testing.T) {
	p := newPolicy(4, false)
	for i := range 3 {
		p.connect(t, i)
	}
	if i, ok := p.route(2); i != 2 || !ok {
		t.Errorf("place 2 went to %d", i)
	}
	seen := map[int]int{}
	for range 30 {
		i, ok := p.route(3)
		if !ok {
			t.Fatal("no connection takes the operation")
		}
		seen[i]++
	}
	if seen[0] != 10 || seen[1] != 10 || seen[2] != 10 {
		t.Errorf("place 3, which is down, went to %v", seen)
	}
	for i := range 3 {
		p.table[i].blocked = true
	}
	if i, ok := p.route(0); ok {
		t.Errorf("connection %d takes an operation although its socket is full", i)
	}
}

// partingCodec is a codec whose session must be closed.
type partingCodec struct {
	*simCodec
	closed bool
}

func (c *partingCodec) Close()            { c.closed = true }
func (c *partingCodec) Session() int64    { return 0 }
func (c *partingCodec) CheckAlive() error { return nil }

// A connection for a single operation is dialed when the operation arrives. The time of this dial
// is the operation's sent time. After the operation, the loop closes the session and waits up to
// maxEndWait for the session to end.
func TestBriefConnectionEndsWithItsOperation(t *testing.T) {
	p := newPolicy(1, true)
	session := &partingCodec{simCodec: newSimCodec(1)}
	p.connections.codecs = func(store.ConnectionInfo) store.Codec { return session }
	p.dialAll()
	c := p.table[0]
	if ready, _, _ := p.allReady(); !ready || !c.vacant() {
		t.Fatal("a vacant place is not ready")
	}
	tag := p.queued(0, 1)
	p.dialIfVacant(0, 50)
	if c.state != dialing || p.ops.table[tag].sent != 50 || c.vacant() {
		t.Fatalf("state %d, sent %d", c.state, p.ops.table[tag].sent)
	}
	p.finishDial(0, errRefused, 60)
	p.redialDue(c.redialAt)
	if c.state != dialing || p.ops.table[tag].sent != 50 {
		t.Errorf("state %d, sent %d; want a second dial, and the sent time of the first dial", c.state, p.ops.table[tag].sent)
	}
	p.sim.conns[0].open = true
	p.connect(t, 0)
	c.queue = c.queue[:0]
	p.closeAfterReply(0, 100)
	if !session.closed || c.state != ending {
		t.Fatalf("closed %v, state %d", session.closed, c.state)
	}
	p.redialDue(100 + maxEndWait - 1)
	if c.vacant() {
		t.Error("the place is vacant before the session has ended")
	}
	p.redialDue(100 + maxEndWait)
	if !c.vacant() {
		t.Errorf("state %d: the place is not vacant after maxEndWait", c.state)
	}
}
