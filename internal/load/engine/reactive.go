package engine

// reactions is what a loop does for a Reactive source.
type reactions struct {
	reactive Reactive   // the source, if it is one
	kept     []waiter   // operations that wait for others' answers
	prompts  heldSecond // in which is counted what is prompted after the window
}

// placeOf is the connection that an operation belongs to; -1: it is sent on any.
func (l *Loop) placeOf(n uint64) int {
	if l.reactive != nil {
		if place := l.reactive.Place(n); place >= 0 {
			return l.conns.places[place]
		}
	}
	return -1
}

// place sends an operation that was taken up on the connection that it belongs to, or
// has it wait for that.
func (l *Loop) place(i int, n uint64, tag uint32) {
	c, sl := l.conns.table[i], &l.slots.table[tag]
	sl.conn = int32(i)
	if len(c.queue) == 0 && c.ready() {
		l.submit(i, tag)
		return
	}
	sl.state = waiting
	c.queue = append(c.queue, waiter{tag, n})
}

// keep has an operation that was taken up wait for others' answers, or for a connection
// that takes it: such a load has so many operations, and each is sent. It is in flight,
// and its timeout runs.
func (l *Loop) keep(tag uint32, sl *slot) {
	sl.state = waiting
	l.kept = append(l.kept, waiter{tag, sl.n})
}

// letGo sends those that have waited long enough. Their waiting was not the generator's.
func (l *Loop) letGo() {
	left, full := l.kept[:0], false
	for _, w := range l.kept {
		sl := &l.slots.table[w.tag]
		if sl.state != waiting || sl.n != w.n {
			continue // it was given up
		}
		i := l.placeOf(w.n)
		placed := i >= 0
		ok := (placed || !full) && l.reactive.Ready(w.n)
		if ok && placed {
			sl.ready = max(sl.ready, l.now)
			l.place(i, w.n, w.tag)
			continue
		}
		if ok {
			if i = int(sl.conn); !l.conns.takes(i) {
				i, ok = l.conns.route(elsewhere)
				full = !ok // as are all behind it
			}
		}
		if !ok {
			left = append(left, w)
			continue
		}
		sl.ready = max(sl.ready, l.now)
		l.submit(i, w.tag)
	}
	l.kept = left
}

// prompting reports whether what is prompted is taken up.
func (l *Loop) prompting() bool {
	return l.reactive != nil && !l.idle && !l.stopped && (!l.draining || l.reactive.Awaits(l.now))
}

// connectionLost tells the source that a place's connection is gone.
func (l *Loop) connectionLost(place int) {
	if l.reactive != nil {
		l.reactive.Lost(place)
	}
}

// prompt takes up what answers and events have made due.
func (l *Loop) prompt() {
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
		l.takeUp(n, due+l.clock.origin, acc, l.placeOf(n))
	}
}

// nextPrompt is when the source prompts something next, on the loop's clock.
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

// holdPrompts keeps the last second open for what is prompted behind the window.
func (l *Loop) holdPrompts() {
	if s := l.clock.current; l.reactive != nil && len(l.cfg.Clients) == 0 && s != nil {
		l.prompts.hold(s)
	}
}
