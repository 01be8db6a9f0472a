package engine

import "sync"

// mailbox is what others want of a loop. It is looked at once a turn.
type mailbox struct {
	mu        sync.Mutex
	full      bool
	start     int64
	stop      bool
	closeAt   int64
	endpoints []string
}

func (m *mailbox) put(change func(*mailbox)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
	m.full = true
}

// Start lets the first phase begin at the given time of the loop's clock.
func (l *Loop) Start(at int64) {
	l.mail.put(func(m *mailbox) { m.start = at })
	l.poller.Wake()
}

// Stop closes the window now. What is in flight is awaited for DrainOnStop.
func (l *Loop) Stop() {
	l.mail.put(func(m *mailbox) { m.stop = true })
	l.poller.Wake()
}

// Retarget moves the places to other endpoints, one for each, at once. What is
// in flight ends where it is.
func (l *Loop) Retarget(endpoints []string) {
	l.mail.put(func(m *mailbox) { m.endpoints = endpoints })
	l.poller.Wake()
}

// closeAt closes the window at a time at which another loop saw the load's last
// operation end.
func (l *Loop) closeAt(at int64) {
	l.mail.put(func(m *mailbox) { m.closeAt = at })
	l.poller.Wake()
}

func (l *Loop) takeMail() {
	l.mail.mu.Lock()
	if !l.mail.full {
		l.mail.mu.Unlock()
		return
	}
	start, stop, endpoints, end := l.mail.start, l.mail.stop, l.mail.endpoints, l.mail.closeAt
	l.mail.full, l.mail.start, l.mail.endpoints, l.mail.closeAt = false, 0, nil, 0
	l.mail.mu.Unlock()

	if start != 0 {
		l.start(start)
	}
	for i := range endpoints {
		l.move(i, endpoints[i])
	}
	if end != 0 && !l.draining && !l.idle {
		l.close(end)
	}
	if stop && !l.stopped {
		l.halt()
	}
}

// mailStopped reports whether Stop was called and not handled yet.
func (l *Loop) mailStopped() bool {
	l.mail.mu.Lock()
	defer l.mail.mu.Unlock()
	return l.mail.stop
}

// halt ends the load before its time.
func (l *Loop) halt() {
	l.stopped, l.drainTill = true, l.now+l.cfg.DrainOnStop
	switch {
	case l.draining:
	case l.idle:
		l.draining, l.clock.next = true, never
	default:
		l.close(l.now)
	}
}
