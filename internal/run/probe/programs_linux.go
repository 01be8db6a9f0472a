package probe

import (
	"cmp"
	"slices"
	"time"
)

// programs compares the processor time of all processes with that in the previous reading.
type programs struct {
	costLimiter
	readTime time.Time // time of the previous reading
	previous map[int]program
}

// program is a process in the previous reading.
type program struct {
	started, ticks int64
}

const (
	// maxPrograms limits the number of programs in a sample.
	maxPrograms = 32
	// maxPauseOverrun limits the time between two readings that are compared. The pause that the
	// cost of the readings requires is added to this limit. The usage between two readings is
	// attributed to the later reading.
	maxPauseOverrun = 2500 * time.Millisecond
	// minProcessors is the smallest usage, in processors, at which a program is listed.
	minProcessors = 0.02
)

// programKey identifies a program.
type programKey struct {
	name  string
	group int64
}

// read returns the usage of processes since the previous reading, except of the processes whose IDs
// are in ownPIDs. It returns nil if the previous reading is missing or too old. For a process
// that was started since the previous reading, all of its usage is included.
func (p *programs) read(s *Sampler, now time.Time, ownPIDs []int) (all []ProgramUsage) {
	wait := p.next.Sub(p.readTime)
	p.runIfDue(now, s.cpu, func() {
		apart := now.Sub(p.readTime)
		isComparable := p.previous != nil && apart > 0 && apart <= wait+maxPauseOverrun
		ticks := p.usageSince(s, ownPIDs)
		p.readTime = now
		if !isComparable {
			return
		}
		for key, n := range ticks {
			if used := toSeconds(userHZ, n) / apart.Seconds(); used >= minProcessors {
				all = append(all, ProgramUsage{key.name, int(key.group), used, apart.Seconds()})
			}
		}
	})
	slices.SortFunc(all, func(a, b ProgramUsage) int {
		return cmp.Or(cmp.Compare(b.Processors, a.Processors), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
	})
	return all[:min(len(all), maxPrograms)]
}

// usageSince returns the usage since the previous reading, in ticks.
func (p *programs) usageSince(s *Sampler, ownPIDs []int) map[programKey]int64 {
	names, _ := listNames(s.root + "proc")
	used := map[programKey]int64{}
	next := make(map[int]program, len(names))
	for _, name := range names {
		pid := int(number([]byte(name)))
		if pid < 0 || slices.Contains(ownPIDs, pid) {
			continue
		}
		b, ok := s.file.read(s.root + "proc/" + name + "/stat")
		stat, parsed := parseStat(b)
		if !ok || !parsed {
			continue
		}
		current := program{stat.started, stat.user + stat.system}
		next[pid] = current
		before, seen := p.previous[pid]
		if !seen || before.started != current.started {
			before.ticks = 0
		}
		if current.ticks > before.ticks {
			used[programKey{string(stat.name), stat.group}] += current.ticks - before.ticks
		}
	}
	p.previous = next
	return used
}
