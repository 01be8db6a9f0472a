package engine

// How the generator's own pauses are found. A loop that measures and has
// something in flight wakes at each beat at least; how much later than asked it
// does is time in which it was stopped, throttled or not scheduled.

const (
	// heartbeat is how long a loop sleeps at most, and beat how long while it
	// measures with something in flight.
	heartbeat = 10 * millisecond
	beat      = millisecond
	// stampedBeat is the beat where the system stamps what arrives: there it only
	// has to find what stopped the whole machine, and each beat costs as much as
	// an operation or two.
	stampedBeat = 4 * millisecond
	// leastPause is what counts as a pause: timers are later than asked by some
	// microseconds on any machine.
	leastPause = millisecond
	// A turn takes so much for each answer and each ready connection at most,
	// which is ten times what it needs; what is beyond that and leastPause is a
	// pause.
	perAnswer = 20_000
	perReady  = 50_000
)

// setBeat lets the poller beat while the loop measures, if it can.
func (l *Loop) setBeat(on bool) {
	b, ok := l.poller.(Beating)
	if !ok {
		return
	}
	l.beat = 0
	if on {
		period := int64(beat)
		if l.stamped != nil {
			period = stampedBeat
		}
		if b.SetBeat(period) {
			l.beat = period
		}
	} else {
		b.SetBeat(0)
	}
}

// nextBeat is when a wait that begins now ends at the latest.
func (l *Loop) nextBeat(until int64) int64 {
	if l.beat == 0 {
		return until
	}
	began := max(l.now, l.turned)
	return min(until, began-began%l.beat+l.beat)
}

// awake notes when the loop woke, and when it had asked for that.
func (l *Loop) awake(asked, now int64) {
	l.woke, l.asked = now, min(asked, now)
	if !l.measuring {
		return
	}
	l.res.LongestPause = max(l.res.LongestPause, now-asked)
	if pause := now - asked; pause >= leastPause {
		l.res.Paused += pause
	}
}

// worked notes how long a turn took.
func (l *Loop) worked(now int64, answers uint64) {
	l.turned = now
	if !l.measuring {
		return
	}
	took := now - l.woke
	l.res.LongestPause = max(l.res.LongestPause, took)
	if pause := took - int64(answers)*perAnswer - int64(len(l.ready))*perReady; pause >= leastPause {
		l.res.Paused += pause
	}
}
