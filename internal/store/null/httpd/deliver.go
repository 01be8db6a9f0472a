package httpd

import (
	"net"
	"runtime"
	"time"
)

// begin schedules what the script does at times counted from the first
// operation, which arrived now.
func (s *server) begin(now int64) {
	for _, at := range s.script.Closes {
		s.schedule.add(&pending{due: now + int64(at)})
	}
}

// fire gives the answers that are due, until the server stops. It keeps its
// thread, which the kernel wakes at the time: otherwise another goroutine may
// be running there, and the rarest answers come later still.
func (s *server) fire() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		p, ok := s.schedule.next()
		switch {
		case !ok:
			return
		case p.conn == nil:
			for _, c := range s.open() {
				c.close()
			}
		default:
			s.deliver(p.conn, len(p.body))
		}
	}
}

// deliver performs a connection's pending answer. What might have to wait, for
// the client or for a pause of the script's, waits elsewhere.
func (s *server) deliver(c *conn, size int) {
	if size <= writeInline && s.script.Chunk == 0 && c.mu.TryLock() {
		defer c.mu.Unlock()
		c.due()
		return
	}
	s.running.Go(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.due()
	})
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
