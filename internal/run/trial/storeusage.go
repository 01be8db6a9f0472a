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
	mu      sync.Mutex
	isLocal map[string]bool // whether a member's process is on the generator's machine, by the process's name
	samples map[string][]usageSample
	// earlierUsage contains, for each name, the usage of the earlier processes with this name. The
	// usage of a restarted member starts at 0 again.
	earlierUsage map[string]usageSample
}

// usageSample is the resource usage of a process up to a point in time, and its memory at that
// time.
type usageSample struct {
	at      time.Time
	started float64 // start time in seconds since the machine booted; identifies the process
	cpu     float64 // processor time since the process started, in seconds
	rss     int64   // bytes
	// written is the number of bytes that the system has written to disks for the process since the
	// process started. It is negative if the system does not provide this number.
	written int64
}

func newStoreUsage(members []cluster.Member) *storeUsage {
	u := &storeUsage{isLocal: map[string]bool{}, samples: map[string][]usageSample{}, earlierUsage: map[string]usageSample{}}
	for _, m := range members {
		for _, p := range m.Processes() {
			u.isLocal[p.Name] = true // the method `place` sets it to false for members on other machines
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
		if _, ours := u.isLocal[name]; ours && r.OK {
			u.samples[name] = append(u.samples[name], u.addEarlier(name, usageSample{at: at, started: r.Started, cpu: r.UserSeconds + r.SystemSeconds, rss: r.RSS, written: r.WriteBytes}))
		}
	}
}

// addEarlier adds the usage of earlier processes with the same name to the usage of the current
// process.
func (u *storeUsage) addEarlier(name string, now usageSample) usageSample {
	before := u.earlierUsage[name]
	if all := u.samples[name]; len(all) > 0 {
		// The usage of a new process starts at 0.
		if last := all[len(all)-1]; now.started != last.started || now.cpu+before.cpu < last.cpu {
			before = last
			u.earlierUsage[name] = last
		}
	}
	now.cpu += before.cpu
	if now.written >= 0 && before.written >= 0 {
		now.written += before.written
	}
	return now
}

// usageBetween returns the usage of all members' processes between two times. localSeconds is the
// processor time in seconds of the members on the generator's machine. all is nil if the usage of
// any process is unknown.
func (u *storeUsage) usageBetween(from, to time.Time) (all *record.StoreUsage, localSeconds float64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.isLocal) == 0 || !from.Before(to) {
		return nil, 0
	}
	all = &record.StoreUsage{}
	written, isUnknown := 0.0, false
	for name, isHere := range u.isLocal {
		seen := u.samples[name]
		if len(seen) == 0 || seen[0].at.After(from) {
			return nil, 0
		}
		growth := func(of func(*usageSample) float64) float64 { return valueAt(seen, to, of) - valueAt(seen, from, of) }
		used := growth(func(u *usageSample) float64 { return u.cpu })
		if all.CPUSeconds += used; isHere {
			localSeconds += used
		}
		all.MaxRSSBytes += maxRSS(seen, from, to)
		all.GrowthRSSBytes += int64(math.Round(growth(func(u *usageSample) float64 { return float64(u.rss) })))
		written += growth(func(u *usageSample) float64 { return float64(u.written) })
		isUnknown = isUnknown || slices.ContainsFunc(seen, func(u usageSample) bool { return u.written < 0 })
	}
	if !isUnknown {
		all.WrittenBytes = new(int64(math.Round(written)))
	}
	return all, localSeconds
}

// valueAt returns a process's value at the given time, interpolated linearly between two samples.
// After the last sample, it returns the value in the last sample, because a process that is no
// longer sampled has exited.
func valueAt(seen []usageSample, at time.Time, of func(*usageSample) float64) float64 {
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

// maxRSS returns the largest memory usage of a process in the samples of a time span, including the
// last sample before the span and the first sample after it.
func maxRSS(seen []usageSample, from, to time.Time) (most int64) {
	for i, s := range seen {
		before := s.at.Before(from) && (i+1 == len(seen) || !seen[i+1].at.After(from))
		behind := s.at.After(to) && i > 0 && !seen[i-1].at.Before(to)
		if !before && !behind {
			most = max(most, s.rss)
		}
	}
	return most
}
