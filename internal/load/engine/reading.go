package engine

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
)

// All connections that are ready are read first, each stamped right after its
// read call, and what they had is parsed and answered afterwards: else the last
// of a thousand answers that came at once would have waited for the others to
// be answered, and that would be in its time.

const (
	readBuffer = 256 << 10
	// readMost is the most that is read of one connection at once while others
	// wait, and readLeast what must be left of the buffer for another read.
	readMost  = 64 << 10
	readLeast = 16 << 10
	// readTurn is the most that is read of one connection before everything
	// else has its turn: a server that sends without end would have the loop for
	// itself, and no timeout would be noticed.
	readTurn = 1 << 20
)

// reading is what one read call brought.
type reading struct {
	conn   int
	dial   uint64 // which of the place's connections it was
	bytes  []byte
	err    error
	at     int64
	lag    int64 // since the bytes arrived, as far as that is known
	weight int64 // 0: not of the sample
}

// reads is what a loop has read and not acted on yet, and the time of what it acts on.
type reads struct {
	stamped  poll.Stamped // the poller, if it knows when bytes arrived
	buf      []byte
	used     int // of buf
	readings []reading
	left     []poll.Ready // connections that have more than was read in their turn
	sample   sampling
	lag      int64 // of the reading that is acted on
	weight   int64 // likewise
}

// sampling chooses the reads of which it is recorded what the generator added:
// each one of every so many, by count and not by time, which would weigh too
// little what comes at once after a pause. Of what is late, which decides about the
// slowest operations, each is recorded, up to sampledReads a second.
type sampling struct {
	every   int64 // a power of two
	count   int64 // of reads, without those that were late
	late    int64 // reads and operations of this second
	sampled int64 // since every was changed
	before  int64 // count at the last second's end
}

// sampledReads is how many reads a second are sampled, up to twice as many. To
// ask for a stamp makes a read take half as long again.
const sampledReads = 1000

// weight is for how many reads the next one stands; 0: it is not sampled.
func (s *sampling) weight(late bool) int64 {
	if late && s.takeLate() {
		return 1
	}
	s.count++
	if s.count&(s.every-1) != 0 {
		return 0
	}
	weight := s.every
	if s.sampled++; s.sampled > 2*sampledReads { // a second that has many more than the one before
		s.set(8 * s.every)
	}
	return weight
}

// takeLate reports whether one more that is late is recorded.
func (s *sampling) takeLate() bool {
	if s.every == 1 || s.late >= sampledReads {
		return false
	}
	s.late++
	return true
}

func (s *sampling) set(every int64) { s.every, s.sampled = every, 0 }

// second adapts it to the second that has ended.
func (s *sampling) second() {
	reads := s.count - s.before
	s.before, s.late = s.count, 0
	every := int64(1)
	for every*2*sampledReads <= reads {
		every *= 2
	}
	s.set(every)
}

// wait waits until a connection is ready, and not at all while one was left.
func (l *Loop) wait(until int64) {
	ready := l.ready[:0]
	if len(l.left) > 0 {
		until, ready, l.left = l.now, append(ready, l.left...), l.left[:0]
	}
	l.ready = l.poller.Wait(until, ready)
}

// handleReady acts on what is ready.
func (l *Loop) handleReady() {
	for k := range l.ready {
		switch r := &l.ready[k]; r.What {
		case poll.Readable:
			l.read(r.Conn)
		case poll.Writable:
			l.conns.table[r.Conn].blocked = false
			l.pump(r.Conn)
			l.conns.touch(r.Conn)
		case poll.Dialed:
			l.dialed(r.Conn, r.Err)
		}
	}
	if len(l.readings) > 0 {
		l.answer()
	}
}

// read reads what a connection has, to be acted on by answer.
func (l *Loop) read(i int) {
	c := l.conns.table[i]
	most := readMost
	if len(l.ready) == 1 {
		most = len(l.buf)
	}
	for had := 0; ; {
		if had >= readTurn {
			l.left = append(l.left, poll.Ready{Conn: i, What: poll.Readable})
			return
		}
		if len(l.buf)-l.used < readLeast {
			l.answer()
		}
		if c.state == parting {
			if l.conns.awaitEnd(i, l.buf[l.used:]) {
				l.to(l.poller.Now())
				l.conns.parted(i, l.now)
			}
			return
		}
		if c.state != up {
			return
		}
		b := l.buf[l.used:]
		if len(b) > most {
			b = b[:most]
		}
		r := l.nextReading()
		r.conn, r.dial, r.weight = i, c.dials, 0
		n, err := l.readInto(i, b, r)
		if err == poll.ErrAgain {
			l.readings = l.readings[:len(l.readings)-1]
			return
		}
		r.bytes, r.err = b[:n], err
		l.used += n
		had += n
		if err != nil || n < len(b) {
			return
		}
	}
}

// nextReading appends a reading and returns it. It may have the fields of an earlier one.
func (l *Loop) nextReading() *reading {
	n := len(l.readings)
	if n == cap(l.readings) {
		l.readings = append(l.readings, reading{})
	}
	l.readings = l.readings[:n+1]
	return &l.readings[n]
}

// readInto reads and notes when, and since when the bytes were there: they were
// when the loop woke, and as long before as it had overslept. A poller that
// knows better is asked for the sample.
func (l *Loop) readInto(i int, b []byte, r *reading) (n int, err error) {
	arrived := int64(-1)
	if !l.measuring && !l.draining { // what is answered after the window belongs to it, too
		l.sample.count++
		n, err = l.poller.Read(i, b)
	} else if r.weight = l.sample.weight(l.pauses.woke-l.pauses.asked >= leastPause); r.weight > 0 && l.stamped != nil {
		n, arrived, err = l.stamped.ReadStamped(i, b)
	} else {
		n, err = l.poller.Read(i, b)
	}
	r.at = l.poller.Now()
	r.lag = r.at - l.pauses.asked
	if arrived >= 0 && (l.pauses.woke-l.pauses.asked < leastPause || arrived > r.lag) {
		r.lag = arrived
	}
	return n, err
}

// answer acts on what was read, in that order.
func (l *Loop) answer() {
	for k := range l.readings {
		r := &l.readings[k]
		i, c, err := r.conn, l.conns.table[r.conn], r.err
		r.err = nil // it is not kept
		if c.state != up || c.dials != r.dial {
			continue // it has ended meanwhile
		}
		l.to(r.at)
		if err != nil {
			l.lost(i, c.ended(err))
			continue
		}
		l.lag, l.weight = r.lag, r.weight
		l.conns.bytesIn += uint64(len(r.bytes))
		l.events, err = c.codec.Feed(r.bytes, l.events[:0])
		l.handle(i)
		l.lag, l.weight = 0, 0
		if err != nil {
			l.lost(i, fmt.Errorf("%s: %w", c.endpoint, err))
			continue
		}
		if k+1 == len(l.readings) || l.readings[k+1].conn != i {
			l.pump(i)
			l.flush(i)
		}
	}
	l.readings, l.used = l.readings[:0], 0
}

// weightOf is for how many operations one stands that a read completes; 0: it is not
// recorded. One that was sent late stands for itself.
func (l *Loop) weightOf(sl *slot) int64 {
	late := sl.held > 0 || sl.client < 0 && sl.sent-sl.ready >= leastPause
	if late && (l.measuring || l.draining) && l.sample.takeLate() {
		return 1
	}
	return l.weight
}

// disturbed records what the generator added to the time of a success that stands for
// weight operations.
func (l *Loop) disturbed(sl *slot, at, weight int64) {
	d := &sl.acc.Disturbed
	service := at - sl.sent
	lag := min(l.lag, service)
	whole, added := service, beyondUsual(lag)+sl.held
	if sl.client < 0 {
		whole, added = at-sl.due, added+beyondUsual(sl.sent-sl.ready)
	} else if added > 0 {
		d.RunWait += weight * beyondUsual(min(lag, l.runWaits.now(l.now)))
	}
	l.secs.recordAs(&d.Lag, lag, weight)
	l.secs.recordAs(&d.Sampled, whole, weight)
	l.secs.recordAs(&d.Undisturbed, max(whole-added, 1), weight)
}
