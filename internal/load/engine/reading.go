package engine

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
)

// The loop first reads from all ready connections, and notes the time right after each read call.
// Only then does it decode and process the replies. Otherwise, if a thousand replies arrived
// together, the response time of the last operation would include the time for processing the other
// replies.

const (
	readBuffer = 256 << 10
	// maxReadSize is the maximum number of bytes that one call reads from a connection while other
	// connections are ready too. minReadSpace is the free space that the buffer must have for
	// another read.
	maxReadSize  = 64 << 10
	minReadSpace = 16 << 10
	// maxReadPerTurn limits the number of bytes that the loop reads from one connection per turn.
	// Without this limit, a server that sends continuously would keep the loop busy, and the loop
	// would miss its timeouts.
	maxReadPerTurn = 1 << 20
)

// reading holds the result of one read call.
type reading struct {
	conn   int
	dial   uint64 // number of the dial that opened the connection
	bytes  []byte
	err    error
	at     int64
	lag    int64 // maximum time from the arrival of the bytes to the read
	weight int64 // number of reads that this read represents in the sample; 0: it is not sampled
}

// A reads value holds the data that the loop has read but not processed. It also holds the lag and
// the weight of the reading that the loop is processing.
type reads struct {
	stamped  poll.TimestampPoller // the poller, if it knows when bytes arrived
	buf      []byte
	used     int // bytes of buf in use
	readings []reading
	unread   []poll.Ready // connections with more data than maxReadPerTurn allowed
	sample   sampling
	lag      int64 // lag of the reading that is being processed
	weight   int64 // weight of the reading that is being processed
}

// sampling selects the reads for which the loop records how much time the generator added. It
// selects one read in every `interval` reads. It counts reads because sampling by time would
// under-represent the burst of replies after a pause. It also selects late reads and late
// operations, up to sampledReads per second, because they determine the highest percentiles.
type sampling struct {
	interval      int64 // one read in this many is sampled; a power of two
	count         int64 // number of reads, without late ones
	late          int64 // late reads and operations in this second
	sampled       int64 // number of sampled reads since `interval` was last set
	previousCount int64 // value of count at the end of the last second
}

// sampledReads is the target number of sampled reads per second. The actual number may be up to
// twice as high. A read with a time stamp takes 1.5 times as long as a read without one.
const sampledReads = 1000

// nextWeight returns the number of reads that the next read represents, or 0 if it is not sampled.
func (s *sampling) nextWeight(late bool) int64 {
	if late && s.admitLate() {
		return 1
	}
	s.count++
	if s.count&(s.interval-1) != 0 {
		return 0
	}
	weight := s.interval
	if s.sampled++; s.sampled > 2*sampledReads { // far more reads than in the previous second
		s.set(8 * s.interval)
	}
	return weight
}

// admitLate reports whether another late read or operation may be recorded in this second.
func (s *sampling) admitLate() bool {
	if s.interval == 1 || s.late >= sampledReads {
		return false
	}
	s.late++
	return true
}

func (s *sampling) set(interval int64) { s.interval, s.sampled = interval, 0 }

// adapt adjusts the sampling rate to the number of reads in the second that has ended.
func (s *sampling) adapt() {
	reads := s.count - s.previousCount
	s.previousCount, s.late = s.count, 0
	every := int64(1)
	for every*2*sampledReads <= reads {
		every *= 2
	}
	s.set(every)
}

// wait waits until a connection is ready or the time `until` has passed. It returns at once if a
// connection still has data from the previous turn.
func (l *Loop) wait(until int64) {
	ready := l.ready[:0]
	if len(l.unread) > 0 {
		until, ready, l.unread = l.now, append(ready, l.unread...), l.unread[:0]
	}
	l.ready = l.poller.Wait(until, ready)
}

// handleReady reads from and writes to the ready connections, and processes the replies.
func (l *Loop) handleReady() {
	for k := range l.ready {
		switch r := &l.ready[k]; r.Reason {
		case poll.Readable:
			l.readConn(r.Conn)
		case poll.Writable:
			l.conns.table[r.Conn].blocked = false
			l.submitQueued(r.Conn)
			l.conns.touch(r.Conn)
		case poll.Dialed:
			l.handleDialed(r.Conn, r.Err)
		}
	}
	if len(l.readings) > 0 {
		l.processReadings()
	}
}

// readConn reads the data that is available on connection i. processReadings processes the data
// later.
func (l *Loop) readConn(i int) {
	c := l.conns.table[i]
	sizeLimit := maxReadSize
	if len(l.ready) == 1 {
		sizeLimit = len(l.buf)
	}
	for total := 0; ; {
		if total >= maxReadPerTurn {
			l.unread = append(l.unread, poll.Ready{Conn: i, Reason: poll.Readable})
			return
		}
		if len(l.buf)-l.used < minReadSpace {
			l.processReadings()
		}
		if c.state == ending {
			if l.conns.awaitEnd(i, l.buf[l.used:]) {
				l.advance(l.poller.Now())
				l.conns.finishEnding(i, l.now)
			}
			return
		}
		if c.state != up {
			return
		}
		b := l.buf[l.used:]
		if len(b) > sizeLimit {
			b = b[:sizeLimit]
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
		total += n
		if err != nil || n < len(b) {
			return
		}
	}
}

// nextReading appends a reading and returns it. The reading may still contain old values.
func (l *Loop) nextReading() *reading {
	n := len(l.readings)
	if n == cap(l.readings) {
		l.readings = append(l.readings, reading{})
	}
	l.readings = l.readings[:n+1]
	return &l.readings[n]
}

// readInto reads into b. It sets r.at to the time of the read, and r.lag to the longest time for
// which the bytes may have waited to be read. This is the time since the loop woke up, plus the
// delay of that wake-up. If the read is sampled and the poller stamps packets, r.lag is the exact
// wait.
func (l *Loop) readInto(i int, b []byte, r *reading) (n int, err error) {
	arrived := int64(-1)
	if !l.measuring && !l.draining { // replies that arrive during the drain belong to the window, too
		l.sample.count++
		n, err = l.poller.Read(i, b)
	} else if r.weight = l.sample.nextWeight(l.pauses.turnStart-l.pauses.earliestArrival >= minPause); r.weight > 0 && l.stamped != nil {
		n, arrived, err = l.stamped.ReadStamped(i, b)
	} else {
		n, err = l.poller.Read(i, b)
	}
	r.at = l.poller.Now()
	r.lag = r.at - l.pauses.earliestArrival
	if arrived >= 0 && (l.pauses.turnStart-l.pauses.earliestArrival < minPause || arrived > r.lag) {
		r.lag = arrived
	}
	return n, err
}

// processReadings processes the readings in order.
func (l *Loop) processReadings() {
	for k := range l.readings {
		r := &l.readings[k]
		i, c, err := r.conn, l.conns.table[r.conn], r.err
		r.err = nil // so that the reading does not keep the error in memory
		if c.state != up || c.dials != r.dial {
			continue // the connection has ended since the read
		}
		l.advance(r.at)
		if err != nil {
			l.loseConn(i, c.endError(err))
			continue
		}
		l.lag, l.weight = r.lag, r.weight
		l.conns.bytesIn += uint64(len(r.bytes))
		l.events, err = c.codec.Feed(r.bytes, l.events[:0])
		l.handle(i)
		l.lag, l.weight = 0, 0
		if err != nil {
			l.loseConn(i, fmt.Errorf("%s: %w", c.endpoint, err))
			continue
		}
		if k+1 == len(l.readings) || l.readings[k+1].conn != i {
			l.submitQueued(i)
			l.flush(i)
		}
	}
	l.readings, l.used = l.readings[:0], 0
}

// weightOf is called for an operation whose reply was just read. It returns the number of
// operations that this operation represents in the sample, or 0 if the operation is not recorded.
// An operation that was sent late represents only itself.
func (l *Loop) weightOf(sl *slot) int64 {
	late := sl.writePause > 0 || sl.client < 0 && sl.sent-sl.readyAt >= minPause
	if late && (l.measuring || l.draining) && l.sample.admitLate() {
		return 1
	}
	return l.weight
}

// recordDisturbance records how much time the generator added to a successful operation. `weight`
// is the number of operations that this operation represents.
func (l *Loop) recordDisturbance(sl *slot, at, weight int64) {
	d := &sl.acc.Disturbance
	service := at - sl.sent
	lag := min(l.lag, service)
	duration, added := service, excessWakeDelay(lag)+sl.writePause
	if sl.client < 0 {
		duration, added = at-sl.due, added+excessWakeDelay(sl.sent-sl.readyAt)
	} else if added > 0 {
		d.RunWait += weight * excessWakeDelay(min(lag, l.runWaits.waited(l.now)))
	}
	l.secs.recordAs(&d.ReadDelay, lag, weight)
	l.secs.recordAs(&d.Sampled, duration, weight)
	l.secs.recordAs(&d.Undisturbed, max(duration-added, 1), weight)
}
