package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// The limits of what machines.csv says of the whole window.
const (
	limitIOFull     = 0.10 // share of the time in which all tasks stood still for disks
	limitMemoryFull = 0.05 // or for memory
	limitFlush      = limitFsyncP99
	limitAgain      = 0.01 // share of TCP segments that were sent again
	limitThrottled  = 0.05 // share of the time in which a CPU limit held a member back
	limitFiles      = 0.90 // share of the files that a member may have open
	limitCore       = 0.95 // share of one processor's time, where the machine was not full
	fewSegments     = 1000 // of these no share is told
)

// total is what rows of one name came to in the window.
type total struct {
	name    string
	seconds float64
	sums    map[string]float64 // by figure; only what was known in some pair
	cores   []float64
	last    *record.MachineRow
}

func (t *total) add(figure string, v float64) {
	if !math.IsNaN(v) {
		t.sums[figure] += v
	}
}

// totalsOf are those of the rows of members, machines that members run on, and
// their disks, in the order of their first rows.
func totalsOf(t *record.Trial) (all []*total) {
	byName := map[string]*total{}
	eachPair(t.Machines, inWindow(t), func(s pair) {
		one := byName[s.now.Name]
		if one == nil {
			one = &total{name: s.now.Name, sums: map[string]float64{}}
			byName[s.now.Name] = one
			all = append(all, one)
		}
		one.seconds += s.seconds
		one.last = s.now
		for figure, counter := range map[string]func(*record.MachineRow) float64{
			"io": ioFull, "memory": memoryFull, "flushes": flushes, "flush time": flushTime,
			"again": retransmitted, "segments": segments, "throttled": throttled,
		} {
			one.add(figure, s.grown(counter))
		}
		if cores := s.cores(); cores != nil {
			if len(one.cores) != len(cores) {
				one.cores = make([]float64, len(cores))
			}
			for i, share := range cores {
				one.cores[i] += share * s.seconds
			}
		}
	})
	return all
}

// machineTotals judges what machines and members waited for over the window.
func machineTotals(t *record.Trial) (out []*Cause) {
	if t.Opened == nil {
		return nil
	}
	for _, one := range totalsOf(t) {
		if one.seconds <= 0 {
			continue
		}
		switch kind := record.KindOf(one.name); {
		case kind == record.WholeRow && hasMembers(t, one.name):
			out = append(out, wholeMachine(one)...)
		case kind == record.DiskRow && writes(t):
			out = append(out, slowFlushes(one))
		case kind == record.MemberRow:
			out = append(out, heldMember(one)...)
		}
	}
	return out
}

func wholeMachine(m *total) []*Cause {
	words := machineWords(m.name)
	stood := func(what, figure, of string, limit float64) *Cause {
		share := m.sums[figure] / m.seconds
		return over(what, "", share, limit, fmt.Sprintf("all that ran on %s stood still %s for %s of the time (limit %s)", words, of, part(share), measure.Percent(limit)))
	}
	out := []*Cause{
		stood(CauseDisk, "io", "waiting for its disks", limitIOFull),
		stood(CauseMemory, "memory", "for want of memory", limitMemoryFull),
		busiestCore(m),
	}
	if sent := m.sums["segments"]; sent >= fewSegments {
		share := m.sums["again"] / sent
		out = append(out, over(CauseNetwork, "", share, limitAgain,
			fmt.Sprintf("%s of the %s TCP segments that %s sent were sent again (limit %s)", measure.Percent(share), readable.Count(uint64(sent)), words, measure.Percent(limitAgain))))
	}
	return out
}

// busiestCore finds one processor that was full on a machine that was not: the work
// of one thread, or of a device's interrupts.
func busiestCore(m *total) *Cause {
	if len(m.cores) < 2 {
		return nil
	}
	sum := 0.0
	for _, busy := range m.cores {
		sum += busy
	}
	i := slices.Index(m.cores, slices.Max(m.cores))
	share, all := m.cores[i]/m.seconds, sum/m.seconds/float64(len(m.cores))
	if all > limitBusy {
		return nil
	}
	return over(CauseCPU, "", share, limitCore, fmt.Sprintf("processor %d of %s was in use %s of the time, and all %d of them %s: one thread's work, or a device's interrupts",
		i, machineWords(m.name), part(share), len(m.cores), part(all)))
}

func slowFlushes(d *total) *Cause {
	n := d.sums["flushes"]
	if n < 1 {
		return nil
	}
	mean := timeOf(d.sums["flush time"] / n)
	return overLimit(CauseDisk, "", mean, limitFlush, fmt.Sprintf("a flush of %s took %s on average, over %s of them (limit %s)", d.name, spent(mean), readable.Count(uint64(n)), spent(limitFlush)))
}

func heldMember(m *total) []*Cause {
	held := m.sums["throttled"]
	out := []*Cause{over(CauseCPU, m.name, held/m.seconds, limitThrottled,
		fmt.Sprintf("a limit on processor time held the control group of member %s back for %s in %s", m.name, spent(timeOf(held)), readable.Seconds(m.seconds)))}
	if open, limit := m.last.FDs, m.last.FDLimit; limit > 0 {
		out = append(out, over(CauseMember, m.name, open/limit, limitFiles,
			fmt.Sprintf("member %s had %s files open of the %s that it may (limit %s)", m.name, readable.Count(uint64(max(open, 0))), readable.Count(uint64(limit)), measure.Percent(limitFiles))))
	}
	return out
}
