package trial

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// storeUsage gathers what the members' processes used, as machines.csv has it
// and at the window's edges, so that the window's part is known.
type storeUsage struct {
	mu   sync.Mutex
	of   map[string]bool // the members' processes, by name: whether on the generator's machine
	seen map[string][]usedBy
	// ended is what earlier processes of a name had used when they were sampled
	// last: a member that was started again begins at 0.
	ended map[string]usedBy
}

// usedBy is what a process had used at a time, and what it held.
type usedBy struct {
	at      time.Time
	started float64 // in seconds since the machine's boot: which process it was
	cpu     float64 // seconds since its start
	rss     int64   // bytes
	// written is how many bytes it had the system write to disks since its start;
	// below 0 where the system does not say.
	written int64
}

func newStoreUsage(members []cluster.Member) *storeUsage {
	u := &storeUsage{of: map[string]bool{}, seen: map[string][]usedBy{}, ended: map[string]usedBy{}}
	for _, m := range members {
		for _, p := range m.Processes() {
			u.of[p.Name] = true // newSampler finds out who is not
		}
	}
	return u
}

// add takes what processes had used at a time; those that are no member's are
// left out.
func (u *storeUsage) add(at time.Time, names []string, processes []probe.ProcessUsage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, r := range processes {
		name := names[i]
		if _, ours := u.of[name]; ours && r.OK {
			u.seen[name] = append(u.seen[name], u.since(name, usedBy{at: at, started: r.Started, cpu: r.UserSeconds + r.SystemSeconds, rss: r.RSS, written: r.WriteBytes}))
		}
	}
}

// since adds what earlier processes of the name used to what one had used.
func (u *storeUsage) since(name string, now usedBy) usedBy {
	before := u.ended[name]
	if all := u.seen[name]; len(all) > 0 {
		// Another process begins at 0.
		if last := all[len(all)-1]; now.started != last.started || now.cpu+before.cpu < last.cpu {
			before = last
			u.ended[name] = last
		}
	}
	now.cpu += before.cpu
	if now.written >= 0 && before.written >= 0 {
		now.written += before.written
	}
	return now
}

// between is what all members' processes used from one time to another, and the
// processor seconds of those on the generator's machine; nil where that is not
// known of each of them.
func (u *storeUsage) between(from, to time.Time) (all *record.StoreUsage, here float64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.of) == 0 || !from.Before(to) {
		return nil, 0
	}
	all = &record.StoreUsage{}
	written, unsaid := 0.0, false
	for name, isHere := range u.of {
		seen := u.seen[name]
		if len(seen) == 0 || seen[0].at.After(from) {
			return nil, 0
		}
		growth := func(of func(*usedBy) float64) float64 { return valueAt(seen, to, of) - valueAt(seen, from, of) }
		used := growth(func(u *usedBy) float64 { return u.cpu })
		if all.CPUSeconds += used; isHere {
			here += used
		}
		all.MaxRSSBytes += mostRSS(seen, from, to)
		all.GrowthRSSBytes += int64(math.Round(growth(func(u *usedBy) float64 { return float64(u.rss) })))
		written += growth(func(u *usedBy) float64 { return float64(u.written) })
		unsaid = unsaid || slices.ContainsFunc(seen, func(u usedBy) bool { return u.written < 0 })
	}
	if !unsaid {
		all.WrittenBytes = new(int64(math.Round(written)))
	}
	return all, here
}

// valueAt is a figure of a process at a time between two samples, as if it had
// changed evenly between them; after the last it is what it was then, because a
// process that is not seen any more has ended.
func valueAt(seen []usedBy, at time.Time, of func(*usedBy) float64) float64 {
	for i := range seen {
		after := &seen[i]
		if after.at.Before(at) {
			continue
		}
		if i == 0 || after.at.Equal(at) {
			return of(after)
		}
		before := &seen[i-1]
		share := at.Sub(before.at).Seconds() / after.at.Sub(before.at).Seconds()
		return of(before) + share*(of(after)-of(before))
	}
	return of(&seen[len(seen)-1])
}

// mostRSS is the most memory that a process held in the samples of a span and
// those just before and behind it.
func mostRSS(seen []usedBy, from, to time.Time) (most int64) {
	for i, s := range seen {
		before := s.at.Before(from) && (i+1 == len(seen) || !seen[i+1].at.After(from))
		behind := s.at.After(to) && i > 0 && !seen[i-1].at.Before(to)
		if !before && !behind {
			most = max(most, s.rss)
		}
	}
	return most
}
