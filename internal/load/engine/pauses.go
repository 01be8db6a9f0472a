package engine

import "github.com/quorumbench/quorumbench/internal/load/engine/poll"

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

// pauses is what a loop knows of its own.
type pauses struct {
	beat    int64 // the poller ends a wait at each multiple of it; 0: it does not
	asked   int64 // when the loop wanted to wake, or woke earlier
	woke    int64
	sent    int64 // when the turn's latest write call began; 0 before the first
	turned  int64 // when the turn before ended
	held    int64 // how long a pause was that it had, or that it followed and read nothing after
	counts  bool  // in the measured window
	longest int64
	sum     int64 // nanoseconds
}

// count begins or ends the measured window. The poller beats in it, if it can.
func (p *pauses) count(on bool, poller poll.Poller) {
	p.counts, p.beat = on, 0
	b, ok := poller.(poll.Beating)
	if !ok {
		return
	}
	period := int64(0)
	if on {
		period = beat
		if _, stamped := poller.(poll.Stamped); stamped {
			period = stampedBeat
		}
	}
	if b.SetBeat(period) {
		p.beat = period
	}
}

// nextBeat is when a wait that begins now ends at the latest.
func (p *pauses) nextBeat(now, until int64) int64 {
	if p.beat == 0 {
		return until
	}
	began := max(now, p.turned)
	return min(until, began-began%p.beat+p.beat)
}

// awake notes when the loop woke, and when it had asked for that. What it finds at once
// after a turn may have arrived when a pause began that the turn had, or that ended with
// a signal and no connection: a process that goes on after it was stopped wakes so.
func (p *pauses) awake(asked, now int64) {
	p.woke, p.asked = now, min(asked, now)
	p.add(now-asked, now-asked)
	if p.held > 0 && now-p.turned < 4*usualWake {
		p.asked = min(p.asked, p.turned) - p.held
	}
}

// late reports whether the turn's latest write call, if there was one, began leastPause ago.
func (p *pauses) late(now int64) bool { return p.sent != 0 && now-p.sent >= leastPause }

// worked notes how long a turn took in which so many operations ended and so
// many connections were ready.
func (p *pauses) worked(now int64, answers uint64, ready int) {
	p.turned, p.held = now, 0
	took, slept := now-p.woke, p.woke-p.asked
	if took < leastPause && slept < leastPause { // nearly always
		if p.counts && took > p.longest {
			p.longest = took
		}
		return
	}
	unexplained := took - int64(answers)*perAnswer - int64(ready)*perReady
	p.add(took, unexplained)
	if unexplained >= leastPause {
		p.held = unexplained
	}
	if ready == 0 && slept >= leastPause {
		p.held += slept
	}
}

// add notes what may have been a pause, and how much of it the loop's own work
// does not explain.
func (p *pauses) add(took, unexplained int64) {
	if !p.counts {
		return
	}
	if took > p.longest {
		p.longest = took
	}
	if unexplained >= leastPause {
		p.sum += unexplained
	}
}

// usualWake is what any client of the machine pays to be woken, by an answer or
// a timer, when nothing disturbs it: it is not added by this generator.
const usualWake = 50_000

func beyondUsual(ns int64) int64 { return max(ns-usualWake, 0) }
