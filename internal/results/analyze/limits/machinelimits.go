package limits

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Limits for figures from machines.csv over the whole window.
const (
	limitIOFull        = 0.10 // share of the time in which all tasks waited for disks
	limitMemoryFull    = 0.05 // share of the time in which all tasks waited for memory
	limitFlush         = limitFsyncP99
	limitRetransmitted = 0.01 // share of TCP segments that were retransmitted
	limitThrottled     = 0.05 // share of the CPU time that a quota withheld from a member
	limitOpenFiles     = 0.90 // share of a member's limit for open files
	limitCore          = 0.95 // share of one CPU's time, if the machine as a whole was not busy
	fewSegments        = 1000 // with fewer segments, the share of retransmissions is not reported
	// with fewer flushes, their mean time is not reported: a disk with so few flushes is almost
	// idle, so the writes did not wait for it
	fewFlushes = 100
)

// total holds, for one row name in machines.csv, the sums over the window.
type total struct {
	name    string
	seconds float64
	// by figure; contains only figures that are known in at least one pair of rows
	sums  map[string]float64
	cores []float64
	last  *record.MachineRow
}

func (t *total) add(figure string, v float64) {
	if !math.IsNaN(v) {
		t.sums[figure] += v
	}
}

// totalsOf returns the totals of all processes, machines and disks in machines.csv, in the order of
// their first rows.
func totalsOf(t *record.Trial) (all []*total) {
	byName := map[string]*total{}
	samples.EachPair(t.Machines, samples.WindowOf(t), func(s samples.Pair) {
		one := byName[s.Later.Name]
		if one == nil {
			one = &total{name: s.Later.Name, sums: map[string]float64{}}
			byName[s.Later.Name] = one
			all = append(all, one)
		}
		one.seconds += s.Seconds
		one.last = s.Later
		for figure, counter := range map[string]func(*record.MachineRow) float64{
			"io": samples.IOFull, "memory": samples.MemoryFull, "flushes": samples.Flushes, "flush time": samples.FlushTime,
			"again": samples.Retransmitted, "segments": samples.Segments, "throttled": samples.Throttled, "cpu": (*record.MachineRow).CPU,
		} {
			one.add(figure, s.Increase(counter))
		}
		if cores := s.Cores(); cores != nil {
			if len(one.cores) != len(cores) {
				one.cores = make([]float64, len(cores))
			}
			for i, share := range cores {
				one.cores[i] += share * s.Seconds
			}
		}
	})
	return all
}

// machineTotals checks how long machines and members waited in the window.
func machineTotals(t *record.Trial) (out []*Cause) {
	if t.Opened == nil {
		return nil
	}
	all := totalsOf(t)
	for _, one := range all {
		if one.seconds <= 0 {
			continue
		}
		switch kind := record.KindOf(one.name); {
		case kind == record.WholeMachineRow && samples.HasMembers(t, one.name):
			out = append(out, wholeMachine(t, one, all)...)
		case kind == record.DiskRow && t.HasKind(kv.Kind.Writes) && samples.HasMembers(t, cmp.Or(one.last.Machine, record.MachineName)):
			out = append(out, slowFlushes(one))
		case kind == record.MemberRow:
			out = append(out, memberLimits(one, processorsOf(t, all, one))...)
		}
	}
	return out
}

func wholeMachine(t *record.Trial, m *total, all []*total) []*Cause {
	words := machineName(m.name)
	stood := func(what, figure, of string, limit float64) *Cause {
		share := m.sums[figure] / m.seconds
		return causeIfExceeded(what, "", share, limit, fmt.Sprintf("all tasks on %s waited for %s %s of the time (limit %s)", words, of, percentText(share), text.Share(limit)))
	}
	out := []*Cause{
		stood(CauseDisk, "io", "disks", limitIOFull),
		stood(CauseMemory, "memory", "memory", limitMemoryFull),
	}
	if !otherProgramFills(t, all) {
		out = append(out, busiestCore(m))
	}
	if sent := m.sums["segments"]; sent >= fewSegments {
		share := m.sums["again"] / sent
		out = append(out, causeIfExceeded(CauseNetwork, "", share, limitRetransmitted,
			fmt.Sprintf("%s of the %s TCP segments that %s sent were retransmitted (limit %s)", text.Share(share), text.Count(uint64(sent)), words, text.Share(limitRetransmitted))))
	}
	return out
}

// otherProgramFills reports whether the load generator, or all other programs together, used a
// whole CPU while no member did. In this case, a full CPU does not limit the members.
func otherProgramFills(t *record.Trial, all []*total) bool {
	members, generator := 0.0, 0.0
	for _, one := range all {
		switch used := one.sums["cpu"] / max(one.seconds, 1e-9); record.KindOf(one.name) {
		case record.MemberRow:
			members = max(members, used)
		case record.GeneratorRow:
			generator = max(generator, used)
		}
	}
	foreign := 0.0
	if t.ForeignShare != nil && t.Machine != nil {
		foreign = *t.ForeignShare * float64(t.Machine.CPUs)
	}
	return members < minThreadUse && max(generator, foreign) >= minThreadUse
}

// busiestCore checks for a single CPU that was full although the machine was not. Such a CPU runs a
// single busy thread, or handles the interrupts of a device.
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
	return causeIfExceeded(CauseCPU, "", share, limitCore, fmt.Sprintf("CPU %d of %s was busy %s of the time, but all %d CPUs together only %s; one thread or the interrupts of a device used this CPU",
		i, machineName(m.name), percentText(share), len(m.cores), percentText(all)))
}

func slowFlushes(d *total) *Cause {
	n := d.sums["flushes"]
	if n < fewFlushes {
		return nil
	}
	mean := measure.ToDuration(d.sums["flush time"] / n)
	return causeIfTooLong(CauseDisk, "", mean, limitFlush, fmt.Sprintf("flushes of %s took %s on average over %s flushes (limit %s)", d.name, durationText(mean), text.Count(uint64(n)), durationText(limitFlush)))
}

// processorsOf returns the number of CPUs of a member's machine, or 1 if unknown.
func processorsOf(t *record.Trial, all []*total, member *total) float64 {
	machine := cmp.Or(member.last.Machine, record.MachineName)
	if i := slices.IndexFunc(all, func(candidate *total) bool { return candidate.name == machine }); i >= 0 && len(all[i].cores) > 0 {
		return float64(len(all[i].cores))
	}
	if machine == record.MachineName && t.Machine != nil {
		return float64(max(t.Machine.CPUs, 1))
	}
	return 1
}

// memberLimits checks whether a CPU quota paused a member, and how many files the member had open.
// The kernel counts the time in which the member had work for a CPU but the quota did not allow it
// to run.
func memberLimits(m *total, processors float64) []*Cause {
	held := m.sums["throttled"]
	out := []*Cause{causeIfExceeded(CauseCPU, m.name, held/m.seconds/processors, limitThrottled,
		fmt.Sprintf("the CPU quota of member %s withheld %s of CPU time in %s; raise the quota", m.name, durationText(measure.ToDuration(held)), text.Seconds(m.seconds)))}
	if open, limit := m.last.FDs, m.last.FDLimit; limit > 0 {
		out = append(out, causeIfExceeded(CauseMember, m.name, open/limit, limitOpenFiles,
			fmt.Sprintf("member %s had %s of at most %s files open (limit %s)", m.name, text.Count(uint64(max(open, 0))), text.Count(uint64(limit)), text.Share(limitOpenFiles))))
	}
	return out
}
