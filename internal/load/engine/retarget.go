package engine

// When the load moves to another member, each place gets a new connection to that member at once
// (see connections). The operations in flight on the old connection continue until they receive a
// reply, their timeout passes, or the connection is lost. Until then, the old connection blocks
// only the clients that wait for these operations.

// moveStep is the step that the loop must take next to move a place to another endpoint.
type moveStep uint8

const (
	nothingOpen moveStep = iota // no step: the place is being dialed or will be dialed
	mustDrain                   // call detach, because operations are open
	mustReplace                 // call replaceConn, because no operation is open
)

// retarget changes the endpoint of a place, and returns the step that the loop must take now.
func (cs *connections) retarget(place int, endpoint string, now int64) moveStep {
	i := cs.places[place]
	c := cs.table[i]
	if c.nextEndpoint == endpoint {
		return nothingOpen
	}
	cs.links.remove(c, false, now)
	c.nextEndpoint, c.wrongEndpoint, c.backoff = endpoint, endpoint != c.endpoint, 0
	switch {
	case c.state == up && c.open > 0:
		return mustDrain
	case c.state == up && !cs.singleUse:
		return mustReplace
	case c.state == up || c.state == dialing:
		cs.poller.Close(i)
		if c.state == up {
			cs.discard = c.codec.Lost(cs.discard[:0])
		}
		cs.dial(i)
	case c.state == down && c.redialAt != never:
		cs.continuePlace(i, now)
	}
	return nothingOpen
}

// detach gives a place a new connection, and lets the old connection drain. The place's queue moves
// to the new connection.
func (cs *connections) detach(place int, now int64) {
	i := cs.places[place]
	previous := cs.table[i]
	j := len(cs.table)
	next := &conn{place: place, endpoint: previous.nextEndpoint, nextEndpoint: previous.nextEndpoint, redialAt: never}
	if n := len(cs.spare); n > 0 {
		j, cs.spare = cs.spare[n-1], cs.spare[:n-1]
		next.dials, next.dirty = cs.table[j].dials, cs.table[j].dirty
		cs.table[j] = next
	} else {
		cs.table = append(cs.table, next)
	}
	next.queue, previous.queue = previous.queue, nil
	cs.slots.requeue(next.queue, i, j)
	previous.moved, previous.movedAt = true, now
	cs.places[place] = j
	if cs.singleUse {
		cs.dialForNext(j, now)
	} else {
		cs.reconnects++
		cs.dial(j)
	}
}

// retire closes an old connection that has drained.
func (cs *connections) retire(i int) {
	c := cs.table[i]
	if c.state != down {
		cs.poller.Close(i)
	}
	if c.codec != nil {
		// The codec may have to cancel a login that other connections share.
		cs.discard = c.codec.Lost(cs.discard[:0])
	}
	cs.slots.releaseLate(i)
	c.codec, c.err, c.state, c.redialAt, c.tick = nil, nil, down, never, never
	c.open, c.late = 0, 0
	cs.spare = append(cs.spare, i)
}

// movePlace moves a place to another endpoint. The operations that are open on its old connection
// no longer count towards the limit of operations in flight. Otherwise they would block the load on
// the new member for as long as the old member does not reply.
func (l *Loop) movePlace(place int, endpoint string) {
	i := l.conns.places[place]
	if l.measuring && l.conns.table[i].nextEndpoint != endpoint {
		l.closed.windowEndpoints[place] = ""
	}
	switch l.conns.retarget(place, endpoint, l.now) {
	case mustReplace:
		l.replaceConn(i)
	case mustDrain:
		l.watchers.connectionLost(i)
		l.conns.detach(place, l.now)
		l.restartWaiting(l.conns.places[place])
		l.connectionLost(place)
		owed := l.slots.exemptFromLimit(i)
		l.exemptOpen += owed
		if l.cfg.Shared.hasSeveralLoops() {
			for range owed {
				l.cfg.Shared.limit.give(l.index())
			}
		}
		l.noteFreed()
		if l.measuring {
			l.res.Stranded += l.slots.clientsWaitingOn(i)
		}
	}
}

// retireConn closes an old connection that has drained. The old connection's session will expire,
// because the place's new connection has its own session.
func (l *Loop) retireConn(i int) {
	l.reportPossibleEnd(i, false)
	l.conns.retire(i)
}

// recordBlockedClient records how long a client was blocked by a connection whose place had moved.
func (l *Loop) recordBlockedClient(sl *slot, at int64) {
	if len(l.conns.table) == len(l.conns.places) || sl.conn < 0 { // no place has moved
		return
	}
	if c := l.conns.table[sl.conn]; c.moved && c.movedAt >= l.res.WindowStart && l.res.WindowStart > 0 {
		l.res.LongestStranded = max(l.res.LongestStranded, at-c.movedAt)
	}
}
