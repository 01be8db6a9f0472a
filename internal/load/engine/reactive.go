package engine

// reactions holds the loop's state for a Reactive source.
type reactions struct {
	reactive   Reactive // the source, if it implements Reactive
	waitingOps []waiter // operations that wait for other replies or for a connection
	// The second in which the loop counts the operations that the source prompts after the window.
	prompts heldSecond
}

// connectionOf returns the connection that an operation must use, or -1 if it may use any.
func (l *Loop) connectionOf(n uint64) int {
	if l.reactive != nil {
		if place := l.reactive.ConnectionIndex(n); place >= 0 {
			return l.conns.places[place]
		}
	}
	return -1
}

// sendOrQueue sends an operation on connection i, which the operation must use. If the connection
// does not accept it now, sendOrQueue queues the operation there.
func (l *Loop) sendOrQueue(i int, n uint64, tag uint32) {
	c, sl := l.conns.table[i], &l.slots.table[tag]
	sl.conn = int32(i)
	if len(c.queue) == 0 && c.ready() {
		l.submit(i, tag)
		return
	}
	sl.state = waiting
	c.queue = append(c.queue, waiter{tag, n})
}

// keepWaiting makes an operation wait for other replies or for a free connection. A Reactive load
// has a fixed set of operations that must all be sent. So the waiting operation counts as in
// flight, and its timeout runs.
func (l *Loop) keepWaiting(tag uint32, sl *slot) {
	sl.state = waiting
	l.waitingOps = append(l.waitingOps, waiter{tag, sl.n})
}

// sendWaiting sends those of the waiting operations that can be sent now. Their wait does not count
// as lateness of the generator.
func (l *Loop) sendWaiting() {
	remaining, full := l.waitingOps[:0], false
	for _, w := range l.waitingOps {
		sl := &l.slots.table[w.tag]
		if sl.state != waiting || sl.n != w.n {
			continue // it has been given up
		}
		i := l.connectionOf(w.n)
		placed := i >= 0
		ok := (placed || !full) && l.reactive.Ready(w.n)
		if ok && placed {
			sl.readyAt = max(sl.readyAt, l.now)
			l.sendOrQueue(i, w.n, w.tag)
			continue
		}
		if ok {
			if i = int(sl.conn); !l.conns.accepts(i) {
				i, ok = l.conns.route(otherLoop)
				full = !ok // no connection is free for the remaining operations either
			}
		}
		if !ok {
			remaining = append(remaining, w)
			continue
		}
		sl.readyAt = max(sl.readyAt, l.now)
		l.submit(i, w.tag)
	}
	l.waitingOps = remaining
}

// prompting reports whether the loop may currently start operations that the source returns from
// Prompt.
func (l *Loop) prompting() bool {
	return l.reactive != nil && !l.beforeStart && !l.stopped && (!l.draining || l.reactive.ExpectsMore(l.now))
}

// connectionLost informs the source that the connection of a place was lost.
func (l *Loop) connectionLost(place int) {
	if l.reactive != nil {
		l.reactive.ConnectionLost(place)
	}
}

// startPrompted starts the operations that became due because of replies and events.
func (l *Loop) startPrompted() {
	if !l.prompting() {
		return
	}
	acc := l.clock.current
	if l.draining {
		acc = l.prompts.second
	}
	if acc == nil {
		return
	}
	for {
		n, due, ok := l.reactive.Prompt(l.now - l.clock.origin)
		if !ok {
			return
		}
		i := l.connectionOf(n)
		if i < 0 {
			i, _ = l.conns.route(otherLoop) // startOperation checks whether the connection accepts it
		}
		l.startOperation(n, due+l.clock.origin, acc, i)
	}
}

// nextPrompt returns the time, on the loop's clock, at which the source will prompt its next
// operation.
func (l *Loop) nextPrompt() int64 {
	if !l.prompting() {
		return never
	}
	at := l.reactive.NextPrompt()
	if at == never {
		return never
	}
	return max(at+l.clock.origin, l.now)
}

// holdPrompts keeps the window's last second open for operations that are prompted after the
// window.
func (l *Loop) holdPrompts() {
	if s := l.clock.current; l.reactive != nil && len(l.cfg.Clients) == 0 && s != nil {
		l.prompts.hold(s)
	}
}
