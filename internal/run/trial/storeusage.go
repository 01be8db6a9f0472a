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

// storeUsage collects samples of the members' resource usage. The samples are taken at the times of
// the rows in machines.csv, and when the window opens and closes. storeUsage computes the members'
// usage in the window.
type storeUsage struct {
	mu   sync.Mutex
	of   map[string]bool // whether a member's process is on the generator's machine, by the process's name
	seen map[string][]usedBy
	// ended contains, for each name, the usage of the earlier processes with this name. The usage
	// of a restarted member starts at 0 again.
	ended map[string]usedBy
}

// usedBy is the resource usage of a process up to a point in time, and its memory at that time.
type usedBy struct {
	at      time.Time
	started float64 // start time in seconds since the machine booted; identifies the process
	cpu     float64 // processor time since the process started, in seconds
	rss     int64   // bytes
	// written is the number of bytes that the system has written to disks for the process since the
	// process started. It is negative if the system does not provide this number.
	written int64
}

func newStoreUsage(members []cluster.Member) *storeUsage {
	u := &storeUsage{of: map[string]bool{}, seen: map[string][]usedBy{}, ended: map[string]usedBy{}}
	for _, m := range members {
		for _, p := range m.Processes() {
			u.of[p.Name] = true // the method place sets it to false for members on other machines
		}
	}
	return u
}

// add records the usage of processes at the given time. It ignores processes that are not members.
func (u *storeUsage) add(at time.Time, names []string, processes []probe.ProcessUsage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, r := range processes {
		name := names[i]
		if _, ours := u.of[name]; ours && r.OK {
			u.seen[name] = append(u.seen[name], u.addEarlier(name, usedBy{at: at, started: r.Started, cpu: r.UserSeconds + r.SystemSeconds, rss: r.RSS, written: r.WriteBytes}))
		}
	}
}

// addEarlier adds the usage of earlier processes with the same name to the usage of the current
// process.
func (u *storeUsage) addEarlier(name string, now usedBy) usedBy {
	before := u.ended[name]
	if all := u.seen[name]; len(all) > 0 {
		// The usage of a new process starts at 0.
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

// usageBetween returns the usage of all members' processes between two times. here is the processor
// time in seconds of the members on the generator's machine. all is nil if the usage of any process
// is unknown.
func (u *storeUsage) usageBetween(from, to time.Time) (all *record.StoreUsage, here float64) {
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

// valueAt returns a process's value at the given time, interpolated linearly between two samples.
// After the last sample, it returns the value in the last sample, because a process that is no
// longer sampled has exited.
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

// mostRSS returns the largest memory of a process in the samples in a span, including the last
// sample before the span and the first sample after it.
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
