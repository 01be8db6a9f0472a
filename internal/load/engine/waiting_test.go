package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// If each connection accepts only one operation at a time, as in HTTP/1.1, and all connections are
// busy, operations that are due wait for a connection. This wait is not the generator's lateness.
func TestWaitingForAConnectionIsNotGeneratorLateness(t *testing.T) {
	settle.SkipUnderRace(t)
	b := newBench(2, 0, warm(open(1000, secondNS)), open(1000, 4*secondNS))
	b.room = 1 // each operation takes 2.5 ms, so the 2 connections can do 800 of 1000 per second
	b.serve = func(s *sim, conn int, request []byte) { s.reply(conn, 2_490_000, reply(request, kv.OK)) }
	b.run(t)
	d := &b.totals.Disturbance
	if own := d.OwnDelay.Max(); own > 100_000 {
		t.Errorf("the generator itself was late by %d ns", own)
	}
	near(t, "the longest wait", float64(d.BlockedDelay.Max()), float64(b.totals.Lateness.Max()), 0.001)
	if d.OwnDelay.TotalCount() != b.totals.Lateness.TotalCount() {
		t.Errorf("%d operations have an own delay, and %d have a lateness", d.OwnDelay.TotalCount(), b.totals.Lateness.TotalCount())
	}
	near(t, "operations that waited", float64(b.res.WaitedForConnection), 4000, 0.01)
	if b.res.WaitedForLimit != 0 {
		t.Errorf("the limit delayed %d operations, want none", b.res.WaitedForLimit)
	}
}

// A pause of the generator counts as the generator's own lateness, even for operations that wait
// for a connection.
func TestPauseIsGeneratorLateness(t *testing.T) {
	b := newBench(4, 0, open(1000, 3*secondNS))
	paused := false
	b.at = func(s *sim) {
		if s.now > 3e9 && !paused {
			paused = true
			s.now += 100 * millisecond
		}
	}
	b.run(t)
	d := &b.totals.Disturbance
	near(t, "the longest own delay", float64(d.OwnDelay.Max()), 100e6, 0.03)
	if d.BlockedDelay != nil || b.res.WaitedForConnection != 0 {
		t.Errorf("%d operations waited for a connection, want none", b.res.WaitedForConnection)
	}
	near(t, "the sum of pauses", float64(b.res.Paused), 100e6, 0.03)
	// 100 of 3000 operations were due during the pause or received their replies during it.
	if late := d.Sampled.ValueAtQuantile(98); late < 20*millisecond {
		t.Errorf("p98 of the sample is %d ns", late)
	}
	near(t, "the undisturbed time", float64(d.Undisturbed.ValueAtQuantile(99)), 1.02e6, 0.05)
}

// A wait that is caused by the limit of operations in flight is not the generator's lateness,
// either.
func TestWaitingForTheLimitIsNotGeneratorLateness(t *testing.T) {
	b := newBench(2, 0, open(1000, 2*secondNS))
	b.cfg.MaxInFlight = 7
	b.serve = func(s *sim, conn int, request []byte) { s.reply(conn, 10*millisecond, reply(request, kv.OK)) }
	b.run(t)
	near(t, "operations that the limit delayed", float64(b.res.WaitedForLimit), 2000, 0.02)
	if own := b.totals.Disturbance.OwnDelay.Max(); own > 100_000 || b.res.WaitedForConnection != 0 {
		t.Errorf("the generator itself was late by %d ns, and %d operations waited for a connection", own, b.res.WaitedForConnection)
	}
}

// The sample includes all operations that were due in the window, even if they complete after it.
// Otherwise, for a store that stalls until the end of the window, the sample would contain only
// operations from before the stall.
func TestSampleIncludesRepliesAfterTheWindow(t *testing.T) {
	const stall, begin = 4 * secondNS, 2_500_000_000
	b := newBench(2, 0, open(400, 3*secondNS))
	b.serve = func(s *sim, conn int, request []byte) {
		took := int64(millisecond)
		if s.now > begin {
			took = max(took, begin+stall-s.now)
		}
		s.reply(conn, took, reply(request, kv.OK))
	}
	b.run(t)
	m := b.totals
	near(t, "operations of the sample", float64(m.Disturbance.Sampled.TotalCount()), float64(m.Due), 0.02)
	if longest := m.Disturbance.Sampled.Max(); longest < 2*secondNS {
		t.Errorf("the longest operation in the sample took %d ns, but the store stalled for longer", longest)
	}
}
