package poll

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// A wait without a deadline ends at each beat, repeatedly.
func TestBeatEndsWaits(t *testing.T) {
	p, err := NewPoller(1, time.Now(), Dialer{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	b := p.(BeatPoller)
	if !b.SetBeat(millisecond) {
		t.Skip("this system has no timerfd")
	}
	// Go's monitor thread also interrupts waits, but only every 10 ms.
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		before := p.Now()
		for range 20 {
			p.Wait(before+60*secondNS, nil)
		}
		if took := p.Now() - before; took > 100*millisecond {
			r.Errorf("20 waits took %d ms", took/millisecond)
		}
	})
	if !b.SetBeat(0) {
		t.Error("SetBeat(0) did not end the beat")
	}
	before := p.Now()
	p.Wait(before+5*millisecond, nil)
	// The first wait may have ended early because of a beat that occurred before SetBeat(0).
	if p.Wait(before+5*millisecond, nil); p.Now() < before+5*millisecond {
		t.Error("a wait ended early although there was no beat")
	}
}
