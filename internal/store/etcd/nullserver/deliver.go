package nullserver

import (
	"net"
	"runtime"
	"time"
)

// begin schedules what the script does at times counted from the first
// operation, which arrived now.
func (s *server) begin(now int64) {
	var closes []*pending
	for _, at := range s.script.Closes {
		closes = append(closes, &pending{due: now + int64(at)})
	}
	if len(closes) > 0 {
		s.schedule.add(closes)
	}
}

// fire gives the answers that are due, until the server stops. It keeps its
// thread, which the kernel wakes at the time: otherwise another goroutine may
// be running there, and the rarest answers come later still.
func (s *server) fire() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var batch []*pending
	var touched []*conn
	for {
		var ok bool
		if batch, ok = s.schedule.next(batch[:0]); !ok {
			return
		}
		for _, p := range batch {
			c := p.conn
			if c == nil {
				s.closeConns()
				continue
			}
			c.mu.Lock()
			if !c.over && !c.session.closing {
				c.session.due(p)
			}
			c.mu.Unlock()
			if !c.touched {
				c.touched = true
				touched = append(touched, c)
			}
		}
		for _, c := range touched {
			c.touched = false
			c.mu.Lock()
			c.flush(false)
			c.mu.Unlock()
		}
		clear(batch)
		clear(touched)
		touched = touched[:0]
	}
}

// closeConns closes every open connection, as the script says.
func (s *server) closeConns() {
	s.mu.Lock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.closeNow()
	}
}

// write writes everything, in chunks if the script says so.
func (s *server) write(to net.Conn, b []byte) error {
	chunk := s.script.Chunk
	if chunk == 0 {
		_, err := to.Write(b)
		return err
	}
	for len(b) > 0 {
		n, err := to.Write(b[:min(chunk, len(b))])
		if err != nil {
			return err
		}
		if b = b[n:]; len(b) > 0 && s.script.Pause > 0 {
			s.pause(s.script.Pause)
		}
	}
	return nil
}

// pause waits, unless the server stops.
func (s *server) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.done:
	}
}
