package poll

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A park ends for the same reasons as a wait: the time is reached, Wake is called, or a connection
// is ready. The beat continues afterwards.
func TestParkEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	poller, err := NewPoller(1, time.Now(), Dialer{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	p := poller.(*epoll)
	defer p.Release()
	if !p.SetBeat(7 * millisecond) {
		t.Skip("this system has no timerfd")
	}
	never := p.Now() + 3600*secondNS // a park that does not end makes the test hang
	until := p.Now() + 30*millisecond
	if p.Park(until); p.Now() < until || !p.parker.available() {
		t.Errorf("the park ended %d ms early, and the parker is available: %v", (until-p.Now())/millisecond, p.parker.available())
	}
	beats := func() {
		t.Helper()
		var is unix.ItimerSpec
		if err := unix.TimerfdGettime(p.beatFD, &is); err != nil || unix.TimespecToNsec(is.Interval) != 7*millisecond {
			t.Errorf("the beat is %v, %v", is, err)
		}
	}
	beats()
	go p.Wake()
	p.Park(never)
	p.Wake() // before the park
	p.Park(never)
	p.Wait(p.Now(), nil) // consumes both wake-ups
	beats()

	served := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		served <- c
	}()
	p.Dial(0, l.Addr().String())
	up := false
	for !up {
		p.Park(never)
		for _, r := range p.Wait(p.Now(), nil) {
			if r.Reason != Dialed || r.Err != nil {
				t.Fatalf("%+v", r)
			}
			up = true
		}
	}
	c := <-served
	defer func() { _ = c.Close() }()
	go func() {
		if _, err := c.Write([]byte("x")); err != nil {
			t.Error(err)
		}
	}()
	for readable := false; !readable; {
		p.Park(never)
		for _, r := range p.Wait(p.Now(), nil) {
			readable = readable || r.Reason == Readable
		}
	}
	beats()
}
