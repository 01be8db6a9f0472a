package engine

import (
	"sync"
	"sync/atomic"
)

// mailbox holds requests from other goroutines to a loop. The loop checks the mailbox once per
// turn.
type mailbox struct {
	full      atomic.Bool // set with mu held
	mu        sync.Mutex
	start     int64
	stop      bool
	closeAt   int64
	endpoints []string
}

// update changes the mailbox and sets full.
func (m *mailbox) update(change func(*mailbox)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
	m.full.Store(true)
}

// Start sets the time, on the loop's clock, at which the first phase begins.
func (l *Loop) Start(at int64) {
	l.control.update(func(m *mailbox) { m.start = at })
	l.poller.Wake()
}

// Stop closes the measurement window now. The loop waits up to DrainOnStop for operations in
// flight.
func (l *Loop) Stop() {
	l.control.update(func(m *mailbox) { m.stop = true })
	l.poller.Wake()
}

// Retarget moves each place to another endpoint at once. endpoints lists the new endpoint of each
// place. Operations in flight complete on their old connections.
func (l *Loop) Retarget(endpoints []string) {
	l.control.update(func(m *mailbox) { m.endpoints = endpoints })
	l.poller.Wake()
}

// closeAt closes the window at the time `at`. This time is in the past: it is the time at which the
// load's last operation ended in another loop.
func (l *Loop) closeAt(at int64) {
	l.control.update(func(m *mailbox) { m.closeAt = at })
	l.poller.Wake()
}

// handleRequests carries out the requests in the mailbox.
func (l *Loop) handleRequests() {
	l.control.mu.Lock()
	start, stop, endpoints, closeAt := l.control.start, l.control.stop, l.control.endpoints, l.control.closeAt
	l.control.start, l.control.endpoints, l.control.closeAt = 0, nil, 0
	l.control.full.Store(false)
	l.control.mu.Unlock()

	if start != 0 {
		l.startPhases(start)
	}
	for i := range endpoints {
		l.movePlace(i, endpoints[i])
	}
	if closeAt != 0 && !l.draining && !l.beforeStart {
		l.closeWindow(closeAt)
	}
	if stop && !l.stopped {
		l.stopEarly()
	}
}

// stopRequested reports whether Stop was called, even if handleRequests has not carried out the
// request yet.
func (l *Loop) stopRequested() bool {
	l.control.mu.Lock()
	defer l.control.mu.Unlock()
	return l.control.stop
}

// stopEarly ends the load early.
func (l *Loop) stopEarly() {
	l.stopped, l.drainDeadline = true, l.now+l.cfg.DrainOnStop
	switch {
	case l.draining:
	case l.beforeStart:
		l.draining, l.clock.nextBoundary = true, never
	default:
		l.closeWindow(l.now)
	}
}
