package probe

import (
	"cmp"
	"slices"
	"time"
)

// programs compares the processor time of all processes with that in the previous reading.
type programs struct {
	thrift
	at   time.Time // time of the previous reading
	seen map[int]program
}

// program is a process in the previous reading.
type program struct {
	started, ticks int64
}

const (
	// mostPrograms limits the number of programs in a sample.
	mostPrograms = 32
	// longestApart limits the time between two readings that are compared. The pause that the cost
	// of the readings requires is added to this limit. The usage between two readings is attributed
	// to the later reading.
	longestApart = 2500 * time.Millisecond
	// leastProcessors is the smallest usage, in processors, at which a program is listed.
	leastProcessors = 0.02
)

// programKey identifies a program.
type programKey struct {
	name  string
	group int64
}

// read returns the usage of processes since the previous reading, except of the processes in ours.
// It returns nil if the previous reading is missing or too old. For a process that was started
// since the previous reading, all of its usage is included.
func (p *programs) read(s *Sampler, now time.Time, ours []int) (all []ProgramUsage) {
	wait := p.next.Sub(p.at)
	p.spend(now, s.cpu, func() {
		apart := now.Sub(p.at)
		again := p.seen != nil && apart > 0 && apart <= wait+longestApart
		ticks := p.usageSince(s, ours)
		p.at = now
		if !again {
			return
		}
		for key, n := range ticks {
			if used := per(userHZ, n) / apart.Seconds(); used >= leastProcessors {
				all = append(all, ProgramUsage{key.name, int(key.group), used, apart.Seconds()})
			}
		}
	})
	slices.SortFunc(all, func(a, b ProgramUsage) int {
		return cmp.Or(cmp.Compare(b.Processors, a.Processors), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
	})
	return all[:min(len(all), mostPrograms)]
}

// usageSince returns the usage since the previous reading, in ticks.
func (p *programs) usageSince(s *Sampler, ours []int) map[programKey]int64 {
	names, _ := listed(s.root + "proc")
	used := map[programKey]int64{}
	next := make(map[int]program, len(names))
	for _, name := range names {
		pid := int(number([]byte(name)))
		if pid < 0 || slices.Contains(ours, pid) {
			continue
		}
		b, ok := s.file.read(s.root + "proc/" + name + "/stat")
		stat, parsed := parseStat(b)
		if !ok || !parsed {
			continue
		}
		is := program{stat.started, stat.user + stat.system}
		next[pid] = is
		before, seen := p.seen[pid]
		if !seen || before.started != is.started {
			before.ticks = 0
		}
		if is.ticks > before.ticks {
			used[programKey{string(stat.name), stat.group}] += is.ticks - before.ticks
		}
	}
	p.seen = next
	return used
}
