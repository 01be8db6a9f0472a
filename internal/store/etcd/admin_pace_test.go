package etcd

import (
	"testing"
	"time"
)

// TestReadPace checks that a burst is read without a delay, that a flood of data is slowed down,
// and that another burst is allowed after a pause.
func TestReadPace(t *testing.T) {
	p, now := newReadPace(nil), time.Unix(1000, 0)
	if wait := p.recordRead(readBurst, now); wait != 0 {
		t.Errorf("the initial burst had to wait for %v", wait)
	}
	read := 0
	for end := now.Add(10 * time.Second); now.Before(end); read += 32 << 10 {
		now = now.Add(time.Microsecond + p.recordRead(32<<10, now))
	}
	if want := 10 * readPerSecond; read < want*99/100 || read > want*101/100 {
		t.Errorf("%d bytes were read in 10 s, want %d", read, want)
	}
	now = now.Add(time.Hour)
	if p.recordRead(readBurst, now) != 0 || p.recordRead(readPerSecond, now) != time.Second {
		t.Error("a burst is not allowed after a pause of an hour")
	}
}
