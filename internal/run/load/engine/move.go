package engine

// A place is what clients, watchers and the schedule refer to; a connection is
// what has a socket. When the load moves to another member each place gets a
// new connection there at once. What is open on the old one drains beside it:
// it ends by its answer, by the connection's loss or by its timeout, and keeps
// nobody but the clients that wait for it.

// move lets a place go to another endpoint.
func (l *Loop) move(place int, endpoint string) {
	i := l.places[place]
	c := l.conns[i]
	if c.want == endpoint {
		return
	}
	l.unlinked(c, false)
	c.want, c.backoff = endpoint, 0
	switch {
	case c.state == up && c.open > 0:
		l.detach(place)
	case c.state == up && !l.cfg.NewConnection:
		l.replace(i)
	case c.state == up || c.state == dialing:
		l.poller.Close(i)
		if c.state == up {
			l.discard = c.codec.Lost(l.discard[:0])
		}
		l.dial(i)
	case c.state == down && c.redialAt != never:
		l.dialOrEnd(i)
	}
}

// detach gives a place another connection than the one on which operations are
// open.
func (l *Loop) detach(place int) {
	i := l.places[place]
	old := l.conns[i]
	l.watchLost(i)
	j := len(l.conns)
	next := &conn{place: place, endpoint: old.want, want: old.want, redialAt: never}
	if n := len(l.spare); n > 0 {
		j, l.spare = l.spare[n-1], l.spare[:n-1]
		next.dials, next.dirty = l.conns[j].dials, l.conns[j].dirty
		l.conns[j] = next
	} else {
		l.conns = append(l.conns, next)
	}
	next.queue, old.queue = old.queue, nil
	for _, w := range next.queue {
		if sl := &l.slots.table[w.tag]; sl.state == waiting && sl.n == w.n && int(sl.conn) == i {
			sl.conn = int32(j)
		}
	}
	l.owe(i)
	old.moved, old.movedAt = true, l.now
	l.places[place] = j
	if l.measuring {
		l.res.Held += l.heldBy(i)
	}
	if l.cfg.NewConnection {
		l.launch(j)
	} else {
		l.res.Reconnects++
		l.dial(j)
	}
}

// owe takes what is open on a connection out of the limit of operations in
// flight: it would hold the load back at the new member for as long as the old
// one is mute.
func (l *Loop) owe(i int) {
	for k := range l.slots.table {
		sl := &l.slots.table[k]
		if int(sl.conn) != i || sl.client >= 0 || sl.owed || sl.state != submitted && sl.state != written {
			continue
		}
		sl.owed = true
		l.owed++
		if l.cfg.Shared.several() {
			l.cfg.Shared.limit.give(l.me())
		}
	}
	l.freed()
}

// heldBy is how many clients of a closed loop wait for a connection's answers.
func (l *Loop) heldBy(i int) (clients int) {
	for k := range l.slots.table {
		if sl := &l.slots.table[k]; int(sl.conn) == i && sl.client >= 0 && (sl.state == submitted || sl.state == written) {
			clients++
		}
	}
	return clients
}

// held notes for how long an old connection kept a client.
func (l *Loop) held(sl *slot, at int64) {
	if sl.client < 0 || sl.conn < 0 {
		return
	}
	if c := l.conns[sl.conn]; c.moved && c.movedAt >= l.res.Opened && l.res.Opened > 0 {
		l.res.HeldLongest = max(l.res.HeldLongest, at-c.movedAt)
	}
}

// retire ends an old connection on which nothing is awaited any more.
func (l *Loop) retire(i int) {
	c := l.conns[i]
	if c.state != down {
		l.poller.Close(i)
	}
	if c.codec != nil {
		// The codec may share a login that it must give up.
		l.discard = c.codec.Lost(l.discard[:0])
	}
	l.releaseLate(i)
	c.codec, c.err, c.state, c.redialAt, c.tick = nil, nil, down, never, never
	c.open, c.late = 0, 0
	l.spare = append(l.spare, i)
}

// Epoch says that another leader began, for protocols whose answers carry no
// term: what is sent from now on belongs to the given term where its answer
// names none.
func (l *Loop) Epoch(term uint64) { l.epoch.Store(term) }

// term is that of an operation that is sent now.
func (l *Loop) term() uint64 { return max(l.maxTerm, l.epoch.Load()) }
