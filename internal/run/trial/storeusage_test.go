package trial

import (
	"math"
	"os"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// used is a row of a process.
func used(pid int, user, system float64, rss int64) probe.ProcessRow {
	return probe.ProcessRow{Watched: probe.Watched{PID: pid}, OK: true, UserSeconds: user, SystemSeconds: system, RSS: rss}
}

// What the store used is the sum of its processes' between the window's edges:
// the generator, the warm-up and the drain are not in it.
func TestStoreUsageIsTheWindows(t *testing.T) {
	const generator, m1, m2 = 1, 2, 3
	u := newStoreUsage([]Process{{PID: m1}, {PID: m2}})
	u.add(at(0), []probe.ProcessRow{used(generator, 5, 5, 1<<30), used(m1, 10, 1, 100), used(m2, 20, 2, 1000)})
	u.add(at(1), []probe.ProcessRow{used(generator, 6, 6, 1<<30), used(m1, 11, 1, 900), used(m2, 20, 2, 1000)})
	u.add(at(1.5), []probe.ProcessRow{used(m1, 11.5, 1, 200), used(m2, 20.25, 2, 1000)}) // opened
	u.add(at(2), []probe.ProcessRow{used(generator, 7, 7, 1<<30), used(m1, 12, 1.5, 300), used(m2, 20.5, 2, 1001)})
	u.add(at(3), []probe.ProcessRow{used(generator, 8, 8, 1<<30), used(m1, 13, 1.5, 250), used(m2, 21, 2.5, 1000)})
	u.add(at(3.5), []probe.ProcessRow{used(m1, 13.5, 1.5, 260), used(m2, 21, 2.5, 1000)}) // closed
	u.add(at(4), []probe.ProcessRow{used(generator, 9, 9, 1<<30), used(m1, 99, 1.5, 8000), used(m2, 99, 2.5, 8000)})
	got := u.between(at(1.5), at(3.5))
	if got == nil || math.Abs(got.CPUSeconds-(2.5+1.25)) > 1e-9 || got.MaxRSSBytes != 300+1001 {
		t.Errorf("%+v", got)
	}
	// Without samples at the edges, as evenly as between those around them.
	if got := u.between(at(2.25), at(2.75)); got == nil || math.Abs(got.CPUSeconds-(0.5+0.5)) > 1e-9 || got.MaxRSSBytes != 300+1001 {
		t.Errorf("%+v", got)
	}
}

// A member that ended used nothing more; one that was never seen, or not before
// the window, makes the sum unknown, and so does a cluster that runs elsewhere.
func TestStoreUsageIsKnownOfAllOrNotAtAll(t *testing.T) {
	u := newStoreUsage([]Process{{PID: 2}, {PID: 3}})
	u.add(at(0), []probe.ProcessRow{used(2, 1, 0, 100), used(3, 1, 0, 100)})
	u.add(at(1), []probe.ProcessRow{used(2, 2, 0, 100), used(3, 2, 0, 100)})
	u.add(at(2), []probe.ProcessRow{used(2, 3, 0, 100), {Watched: probe.Watched{PID: 3}}})
	if got := u.between(at(0), at(2)); got == nil || got.CPUSeconds != 3 || got.MaxRSSBytes != 200 {
		t.Errorf("one ended: %+v", got)
	}
	if got := u.between(at(1.5), at(2)); got == nil || got.CPUSeconds != 0.5 || got.MaxRSSBytes != 100 {
		t.Errorf("one ended before: %+v", got)
	}
	if got := u.between(at(-1), at(2)); got != nil {
		t.Errorf("not seen at the opening: %+v", got)
	}
	if got := u.between(at(2), at(0)); got != nil {
		t.Errorf("no window: %+v", got)
	}
	if got := newStoreUsage(nil).between(at(0), at(1)); got != nil {
		t.Errorf("no members: %+v", got)
	}
	u = newStoreUsage([]Process{{PID: 2}, {PID: 4}})
	u.add(at(0), []probe.ProcessRow{used(2, 1, 0, 100)})
	if got := u.between(at(0), at(1)); got != nil {
		t.Errorf("one was never seen: %+v", got)
	}
}

// The sampler's own rows and its samples at the window's edges both count, and
// its own process does not.
func TestSamplerGathersWhatTheStoreUsed(t *testing.T) {
	s := newSampler([]Process{{Name: "m1", PID: os.Getpid()}})
	if s.probe == nil {
		t.Skip("the system does not tell what processes use")
	}
	s.rows(at(0))
	s.edge()
	s.edge() // does not block
	s.note(at(1))
	s.rows(at(2))
	if n := len(s.store.seen[os.Getpid()]); n != 5 { // it stands in the list twice: as the generator, too
		t.Errorf("%d samples", n)
	}
	if got := s.store.between(at(0), at(2)); got == nil || got.MaxRSSBytes <= 0 || got.CPUSeconds < 0 {
		t.Errorf("%+v", got)
	}
}
