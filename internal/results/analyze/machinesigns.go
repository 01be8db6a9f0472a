package analyze

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// sign is a figure in machines.csv. If it is much higher than its median, a machine or a member was
// stopped or delayed.
type sign struct {
	kind  record.RowKind
	of    func(pair) float64
	least float64 // smallest value that is reported
	// says describes the figure and its usual value. For a member, the caller puts the member's
	// name in front of this text.
	says func(name string, v, usual float64) string
}

var signs = []sign{
	{record.WholeMachineRow, perSecondOf(ioFull), 0.25, func(name string, v, usual float64) string {
		return fmt.Sprintf("all tasks on %s waited for disks %s of the time (usually %s)", machineWords(name), part(v), part(usual))
	}},
	{record.WholeMachineRow, perSecondOf(memoryFull), 0.1, func(name string, v, usual float64) string {
		return fmt.Sprintf("all tasks on %s waited for memory %s of the time (usually %s)", machineWords(name), part(v), part(usual))
	}},
	{record.DiskRow, perSecondOf(queue), 2, func(name string, v, usual float64) string {
		return fmt.Sprintf("%s had %.2g requests queued on average (usually %.2g)", name, v, usual)
	}},
	{record.DiskRow, func(s pair) float64 { return s.mean(flushTime, flushes) }, 0.02, func(name string, v, usual float64) string {
		return fmt.Sprintf("flushes of %s took %s on average (usually %s)", name, spent(DurationOf(v)), spent(DurationOf(usual)))
	}},
	{record.MemberRow, perSecondOf(retransmitted), 3, func(_ string, v, usual float64) string {
		return fmt.Sprintf("retransmitted %.0f TCP segments per second (usually %.2g)", v, usual)
	}},
	{record.MemberRow, perSecondOf(throttled), 0.1, func(_ string, v, usual float64) string {
		return fmt.Sprintf("was paused by its CPU quota for %.2g s of CPU time per second (usually %.2g)", v, usual)
	}},
	{record.MemberRow, perSecondOf(majorFaults), 50, func(_ string, v, usual float64) string {
		return fmt.Sprintf("read %.0f pages of its memory per second from disk (usually %.2g)", v, usual)
	}},
}

// part formats a share of at most 100 %.
func part(share float64) string { return text.Share(min(share, 1)) }

// machineWords returns the words for a machine in a sentence.
func machineWords(name string) string {
	if name == record.MachineName {
		return "this machine"
	}
	return name
}

// machinesIn reports what was unusual in the span: a machine that was full or waited, a member that
// was stopped, or another program that used much CPU time.
func machinesIn(t *record.Trial, in Span, add func(member, text string)) {
	if t.Machine == nil {
		return
	}
	steps := map[string][]pair{}
	var names []string
	eachPair(t.Machines, Span{t.Opened.Add(-time.Second), in.To.Add(24 * time.Hour)}, func(s pair) {
		names = AppendNew(names, s.now.Name)
		steps[s.now.Name] = append(steps[s.now.Name], s)
	})
	slices.Sort(names)
	for _, name := range names {
		all := steps[name]
		least, most, normal, ok := figuresIn(all, in, pair.processors)
		cpus := float64(t.Machine.CPUs)
		kind := record.KindOf(name)
		switch {
		case !ok:
		case name == record.MachineName && most >= limitFull*cpus && normal < limitBusy*cpus:
			add("", fmt.Sprintf("all %d CPUs of the machine were busy (usually %.2g)", t.Machine.CPUs, normal))
		case kind == record.MemberRow && normal >= 0.1 && least < normal/10:
			add(name, fmt.Sprintf("used hardly any CPU time (%.2g CPUs, usually %.2g)", least, normal))
		}
		for i := range signs {
			one := &signs[i]
			if one.kind != kind {
				continue
			}
			_, most, usual, ok := figuresIn(all, in, one.of)
			if !ok || most < one.least || most < unusual*usual {
				continue
			}
			who := ""
			if kind == record.MemberRow {
				who = name
			}
			add(who, one.says(name, most, usual))
		}
	}
	programsIn(t, in, add)
}

// figuresIn returns the minimum and maximum of a figure in a span, and the median of the figure
// over all pairs of rows.
func figuresIn(all []pair, in Span, of func(pair) float64) (least, most, usual float64, ok bool) {
	var values []float64
	least, most = math.Inf(1), math.Inf(-1)
	for _, s := range all {
		v := of(s)
		if math.IsNaN(v) {
			continue
		}
		values = append(values, v)
		if at := s.middle(); (Span{at, at}).overlaps(in) {
			least, most = min(least, v), max(most, v)
		}
	}
	return least, most, middle(values), least <= most
}

// leastProgram is the smallest CPU use of another program that is reported, in CPUs.
const leastProgram = 0.25

// programsIn reports other programs that used much more CPU time in the span than on average.
func programsIn(t *record.Trial, in Span, add func(member, text string)) {
	window := WindowOf(t)
	total, most := map[string]float64{}, map[string]float64{}
	var names []string
	for i := range t.Machines {
		r := &t.Machines[i]
		if r.Kind() != record.ProgramRow || !(r.Processors > 0) {
			continue
		}
		total[r.Name] += r.Processors * window.shared(Span{r.Since(), r.Time})
		at := r.Since().Add(r.Time.Sub(r.Since()) / 2)
		if (Span{at, at}).overlaps(in) {
			names = AppendNew(names, r.Name)
			most[r.Name] = max(most[r.Name], r.Processors)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		usual := total[name] / max(t.Seconds, 1)
		if v := most[name]; v >= leastProgram && v >= unusual*usual {
			add("", fmt.Sprintf("the other %s used %.2g CPUs (%.2g on average over the window)", name, v, usual))
		}
	}
}
