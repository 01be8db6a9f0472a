package engine

// tickConn calls the codec's Tick if it is due, and then submits queued operations, because the
// call may have made room for them.
func (l *Loop) tickConn(i int) {
	if !l.conns.tick(i, l.now) {
		return
	}
	if why := l.conns.table[i].muteReason(); why != nil {
		l.loseConn(i, why)
		return
	}
	l.submitQueued(i)
	l.conns.touch(i)
}

// handleDialed continues after a dial has succeeded or failed.
func (l *Loop) handleDialed(i int, err error) {
	if l.conns.finishDial(i, err, l.now) {
		l.tickConn(i)
		l.submitQueued(i)
		l.conns.touch(i)
	}
}

// loseConn closes a connection that was lost and sets the outcomes of all its operations.
func (l *Loop) loseConn(i int, why error) {
	if !l.conns.closeBroken(i, why) {
		return
	}
	l.events = l.conns.table[i].appendOutcomes(l.events[:0])
	l.handle(i)
	l.watchers.connectionLost(i)
	l.reportPossibleEnd(i, false)
	// If the place has moved, its old connection was already reported as lost at the time of the
	// move.
	if c := l.conns.table[i]; !c.moved {
		l.connectionLost(c.place)
	}
	l.conns.finishLoss(i, l.now)
	if l.conns.table[i].hasReplied {
		l.restartWaiting(i)
	}
}

// replaceConn closes a connection that has no open operations and dials a new connection for the
// same place.
func (l *Loop) replaceConn(i int) {
	l.flush(i)
	if l.conns.table[i].state == up {
		l.watchers.connectionLost(i)
		l.reportPossibleEnd(i, false)
		l.conns.replace(i, l.now)
		if l.conns.table[i].hasReplied {
			l.restartWaiting(i)
		}
		l.connectionLost(l.conns.table[i].place)
	}
}
