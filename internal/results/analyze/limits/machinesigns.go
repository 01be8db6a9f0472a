package limits

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// A mean time that a member reports is unusual if it is at least unusualFactor times the median of
// this member's mean times. A single time is unusual if it is at least unusualFactor² times this
// median. Both must be at least minUnusual.
const (
	unusualFactor = 3
	minUnusual    = 5 * time.Millisecond
)

// sign is a figure in machines.csv. If it is much higher than its median, a machine or a member was
// stopped or delayed.
type sign struct {
	kind        record.RowKind
	value       func(samples.Pair) float64
	minReported float64 // smallest value that is reported
	// describe describes the figure and its usual value. For a member, the caller puts the member's
	// name in front of this text.
	describe func(name string, v, usual float64) string
}

var signs = []sign{
	{record.WholeMachineRow, samples.PerSecondOf(samples.IOFull), 0.25, func(name string, v, usual float64) string {
		return fmt.Sprintf("all tasks on %s waited for disks %s of the time (usually %s)", machineName(name), percentText(v), percentText(usual))
	}},
	{record.WholeMachineRow, samples.PerSecondOf(samples.MemoryFull), 0.1, func(name string, v, usual float64) string {
		return fmt.Sprintf("all tasks on %s waited for memory %s of the time (usually %s)", machineName(name), percentText(v), percentText(usual))
	}},
	{record.DiskRow, samples.PerSecondOf(samples.Queue), 2, func(name string, v, usual float64) string {
		return fmt.Sprintf("%s had %.2g requests queued on average (usually %.2g)", name, v, usual)
	}},
	{record.DiskRow, func(s samples.Pair) float64 { return s.Mean(samples.FlushTime, samples.Flushes) }, 0.02, func(name string, v, usual float64) string {
		return fmt.Sprintf("flushes of %s took %s on average (usually %s)", name, durationText(measure.ToDuration(v)), durationText(measure.ToDuration(usual)))
	}},
	{record.MemberRow, samples.PerSecondOf(samples.Retransmitted), 3, func(_ string, v, usual float64) string {
		return fmt.Sprintf("retransmitted %.0f TCP segments per second (usually %.2g)", v, usual)
	}},
	{record.MemberRow, samples.PerSecondOf(samples.Throttled), 0.1, func(_ string, v, usual float64) string {
		return fmt.Sprintf("was paused by its CPU quota for %.2g s of CPU time per second (usually %.2g)", v, usual)
	}},
	{record.MemberRow, samples.PerSecondOf(samples.MajorFaults), 50, func(_ string, v, usual float64) string {
		return fmt.Sprintf("read %.0f pages of its memory per second from disk (usually %.2g)", v, usual)
	}},
}

// percentText formats a share of at most 100 %.
func percentText(share float64) string { return text.Share(min(share, 1)) }

// machineName returns the words for a machine in a sentence.
func machineName(name string) string {
	if name == record.MachineName {
		return "this machine"
	}
	return name
}

// machineSigns reports what was unusual in the span: a machine that was fully used or had to wait,
// a member that was stopped, or another program that used much CPU time.
func machineSigns(t *record.Trial, span samples.Span, add func(member, text string)) {
	if t.Machine == nil {
		return
	}
	pairs := map[string][]samples.Pair{}
	var names []string
	samples.EachPair(t.Machines, samples.Span{From: t.Opened.Add(-time.Second), To: span.To.Add(24 * time.Hour)}, func(s samples.Pair) {
		names = analyze.AppendNew(names, s.Later.Name)
		pairs[s.Later.Name] = append(pairs[s.Later.Name], s)
	})
	slices.Sort(names)
	for _, name := range names {
		all := pairs[name]
		least, most, normal, ok := summarizeFigure(all, span, samples.Pair.Processors)
		cpus := float64(t.Machine.CPUs)
		kind := record.KindOf(name)
		switch {
		case !ok:
		case name == record.MachineName && most >= limitFullCPU*cpus && normal < limitBusy*cpus:
			add("", fmt.Sprintf("all %d CPUs of the machine were busy (usually %.2g)", t.Machine.CPUs, normal))
		case kind == record.MemberRow && normal >= 0.1 && least < normal/10:
			add(name, fmt.Sprintf("used hardly any CPU time (%.2g CPUs, usually %.2g)", least, normal))
		}
		for i := range signs {
			one := &signs[i]
			if one.kind != kind {
				continue
			}
			_, most, usual, ok := summarizeFigure(all, span, one.value)
			if !ok || most < one.minReported || most < unusualFactor*usual {
				continue
			}
			who := ""
			if kind == record.MemberRow {
				who = name
			}
			add(who, one.describe(name, most, usual))
		}
	}
	programSigns(t, span, add)
}

// summarizeFigure returns the minimum and maximum of a figure in a span, and the median of the
// figure over all pairs of rows.
func summarizeFigure(all []samples.Pair, span samples.Span, value func(samples.Pair) float64) (least, most, usual float64, ok bool) {
	var values []float64
	least, most = math.Inf(1), math.Inf(-1)
	for _, s := range all {
		v := value(s)
		if math.IsNaN(v) {
			continue
		}
		values = append(values, v)
		if at := s.Middle(); (samples.Span{From: at, To: at}).Overlaps(span) {
			least, most = min(least, v), max(most, v)
		}
	}
	return least, most, stat.UpperMedian(values), least <= most
}

// minProgramCPU is the smallest CPU use of another program that is reported, in CPUs.
const minProgramCPU = 0.25

// programSigns reports other programs that used much more CPU time in the span than on average.
func programSigns(t *record.Trial, span samples.Span, add func(member, text string)) {
	window := samples.WindowOf(t)
	total, most := map[string]float64{}, map[string]float64{}
	var names []string
	for i := range t.Machines {
		r := &t.Machines[i]
		if r.Kind() != record.ProgramRow || !(r.Processors > 0) {
			continue
		}
		total[r.Name] += r.Processors * window.OverlapSeconds(samples.Span{From: r.Since(), To: r.Time})
		at := r.Since().Add(r.Time.Sub(r.Since()) / 2)
		if (samples.Span{From: at, To: at}).Overlaps(span) {
			names = analyze.AppendNew(names, r.Name)
			most[r.Name] = max(most[r.Name], r.Processors)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		usual := total[name] / max(t.Seconds, 1)
		if v := most[name]; v >= minProgramCPU && v >= unusualFactor*usual {
			add("", fmt.Sprintf("the other %s used %.2g CPUs (%.2g on average over the window)", name, v, usual))
		}
	}
}
