package agent

import (
	"errors"
	"io"
	"testing"
	"time"
)

// A wait ends after two heartbeat intervals. Time in which our process could not run is not
// counted, but the wait ends even if our process never runs on time.
func TestSilenceCountsOnlyRunningTime(t *testing.T) {
	const tick = missedHeartbeats * time.Second / ticksPerInterval
	for name, c := range map[string]struct {
		took []time.Duration // durations of the ticks in order; the last is repeated
		want time.Duration
	}{
		"always on time":       {[]time.Duration{tick}, missedHeartbeats * time.Second},
		"a little late":        {[]time.Duration{2 * tick}, 2 * missedHeartbeats * time.Second},
		"stopped for a minute": {[]time.Duration{tick, time.Minute, tick}, time.Minute + missedHeartbeats*time.Second},
		"never on time":        {[]time.Duration{3 * tick}, 2 * ticksPerInterval * 3 * tick},
		"a clock set back":     {[]time.Duration{-time.Hour, tick}, -time.Hour + (ticksPerInterval-1)*tick},
	} {
		t.Run(name, func(t *testing.T) {
			m := &manual{now: epoch}
			s := newSilence(m.clock(), time.Second)
			for i := 0; ; i++ {
				m.advance(c.took[min(i, len(c.took)-1)])
				if s.lost() {
					break
				}
				if i > 2*ticksPerInterval {
					t.Fatal("the wait does not end")
				}
			}
			if got := m.read().Sub(epoch); got != c.want {
				t.Errorf("the wait ended after %v, want %v", got, c.want)
			}
		})
	}
}

// When a suspended agent continues, its timer has expired and heartbeats have arrived. The agent
// keeps its controller, whether it sees the timer or the heartbeats first.
func TestStoppedAgentKeepsItsController(t *testing.T) {
	m := &manual{now: epoch}
	beats, answered, ended := make(chan heartbeat, 1), make(chan uint64), make(chan error)
	left := make(chan error)
	s := newSession(t.Context(), "c", epoch)
	go func() {
		left <- s.answerHeartbeats(beats, ended, func(b heartbeat) error { answered <- b.Number; return nil }, time.Second, m.clock())
	}()
	for n := range uint64(100) {
		m.advance(time.Minute)
		beats <- heartbeat{Number: n}
		select {
		case got := <-answered:
			if got != n {
				t.Fatalf("heartbeat %d was answered, want %d", got, n)
			}
		case err := <-left:
			t.Fatalf("the session ended after heartbeat %d: %v", n, err)
		}
	}
	ended <- io.EOF
	if err := <-left; !errors.Is(err, errBye) {
		t.Error(err)
	}
}
