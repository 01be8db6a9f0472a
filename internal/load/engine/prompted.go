package engine

// Prompted is an optional interface of the Source of an open loop in which answers and
// watch events make operations due, besides those of its schedule: how many there are
// depends on what the store says. Such a source is a Dependent and a Placed, and its loads
// have one loop. Times are in nanoseconds since the window opened, as the schedule's. When
// the window has closed, what is prompted is counted in its last second, and the source is
// asked only as long as it awaits more (Hearing), if it is one: a store that does not come
// back would have something prompted, and in flight, for ever.
type Prompted interface {
	// Prompt returns the next operation that is due by now, since when it is due, and the
	// measured phase's number of it, which no operation of the schedule and none in flight
	// has. It is asked again until there is none, and at the beginning of each turn: that is
	// how a source knows what time it is.
	Prompt(now int64) (n uint64, due int64, ok bool)
	// Prompts is when Prompt has one next, if nothing comes before; math.MaxInt64: never.
	Prompts() int64
}

// SessionObserver is an optional interface of the Source of an open loop that needs to know which
// connections were lost, and which sessions have ended at the server.
type SessionObserver interface {
	// Lost takes that a place's connection has ended, behind the ends of the operations
	// that were in flight on it, or that the place has another now, while those that are in
	// flight on the old one may still be answered. What watched on it is gone.
	Lost(place int)
	// Expired takes that the session of a place's connection, which was to be taken up
	// again, has ended. Another has begun.
	Expired(place int)
}

// prompting reports whether what is prompted is taken up.
func (l *Loop) prompting() bool {
	return l.prompted != nil && !l.idle && !l.stopped && (!l.draining || l.hearing == nil || l.hearing.Awaits(l.now))
}

// connectionLost tells the source that a place's connection is gone.
func (l *Loop) connectionLost(place int) {
	if l.observer != nil {
		l.observer.Lost(place)
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
		n, due, ok := l.prompted.Prompt(l.now - l.clock.origin)
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
	at := l.prompted.Prompts()
	if at == never {
		return never
	}
	return max(at+l.clock.origin, l.now)
}

// holdPrompts keeps the last second open for what is prompted behind the window.
func (l *Loop) holdPrompts() {
	if s := l.clock.current; l.prompted != nil && s != nil {
		l.prompts.hold(s)
	}
}
