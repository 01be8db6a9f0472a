package probe

import (
	"cmp"
	"slices"
	"time"
)

// programs compares the processor time of all processes with what it was.
type programs struct {
	thrift
	at   time.Time // when they were read last
	seen map[int]program
}

// program is a process as it was seen last.
type program struct {
	started, ticks int64
}

const (
	// mostPrograms is how many of them a sample has.
	mostPrograms = 32
	// longestApart is how far apart two readings may be that are to be a second
	// apart: what was used between them is told of the time of the second one.
	longestApart = 2500 * time.Millisecond
	// leastProcessors is what a program uses at least that is worth a line.
	leastProcessors = 0.02
)

// programKey is what programs are told apart by.
type programKey struct {
	name  string
	group int64
}

// read is what processes used since the reading before, but those with the given
// numbers, which are ours; nil where there was none just before. A process that began
// since then used all that it has used.
func (p *programs) read(s *Sampler, now time.Time, ours []int) (all []ProgramUsage) {
	wait := p.next.Sub(p.at)
	p.spend(now, s.cpu, func() {
		apart := now.Sub(p.at)
		again := p.seen != nil && apart > 0 && apart <= wait+longestApart
		ticks := p.since(s, ours)
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

// since is what was used since the last time, in ticks.
func (p *programs) since(s *Sampler, ours []int) map[programKey]int64 {
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
