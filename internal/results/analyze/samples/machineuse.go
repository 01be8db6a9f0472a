package samples

import (
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Pair holds two consecutive rows of machines.csv with the same name. Seconds is the time between
// them.
type Pair struct {
	Earlier, Later *record.MachineRow
	Seconds        float64
}

// MaxEdgeDistance is the maximum distance in time at which a sample outside a span still counts as
// part of the span.
const MaxEdgeDistance = time.Second / 2

// EachPair calls the function `each` for every pair of consecutive rows in a span of time. Two rows
// are not a pair if there is a gap, a process restart or a counter reset between them.
func EachPair(rows []record.MachineRow, span Span, each func(Pair)) {
	EachMatchingPair(rows, span, (*record.MachineRow).Follows, each)
}

// EachMatchingPair does the same as EachPair, but the caller provides the function that decides
// whether two rows are consecutive.
func EachMatchingPair(rows []record.MachineRow, span Span, follows func(now, before *record.MachineRow) bool, each func(Pair)) {
	before := map[string]*record.MachineRow{}
	for i := range rows {
		now := &rows[i]
		last := before[now.Name]
		before[now.Name] = now
		if last != nil && follows(now, last) && !last.Time.Before(span.From.Add(-MaxEdgeDistance)) && !now.Time.After(span.To.Add(MaxEdgeDistance)) {
			each(Pair{last, now, now.Time.Sub(last.Time).Seconds()})
		}
	}
}

// AllTime returns a span that contains all times.
func AllTime() Span { return Span{time.Unix(0, 0), time.Unix(1<<40, 0)} }

// Middle returns the middle of the time between the two rows.
func (p Pair) Middle() time.Time { return p.Earlier.Time.Add(p.Later.Time.Sub(p.Earlier.Time) / 2) }

// Increase returns the increase of a counter. It returns NaN if the counter is unknown or
// decreased.
func (p Pair) Increase(counter func(*record.MachineRow) float64) float64 {
	if d := counter(p.Later) - counter(p.Earlier); d >= 0 {
		return d
	}
	return math.NaN()
}

// Rate returns the increase of a counter per second. If the counter counts seconds, the rate is a
// share of the time.
func (p Pair) Rate(counter func(*record.MachineRow) float64) float64 {
	return p.Increase(counter) / p.Seconds
}

// Mean returns the increase of one counter divided by the increase of another counter. It returns
// NaN if the second counter did not increase.
func (p Pair) Mean(sum, count func(*record.MachineRow) float64) float64 {
	n := p.Increase(count)
	if !(n > 0) {
		return math.NaN()
	}
	return p.Increase(sum) / n
}

// Processors returns the number of CPUs in use.
func (p Pair) Processors() float64 { return p.Rate((*record.MachineRow).CPU) }

// Cores returns, for each CPU of a machine, the share of the time in which the CPU was busy. It
// returns nil if a share is unknown.
func (p Pair) Cores() (all []float64) {
	if len(p.Later.Cores) != len(p.Earlier.Cores) { // a CPU was added or removed
		return nil
	}
	for i, busy := range p.Later.Cores {
		share := (busy - p.Earlier.Cores[i]) / p.Seconds
		if !(share >= 0) {
			return nil
		}
		all = append(all, min(share, 1))
	}
	return all
}

// PerSecondOf returns a function that returns the counter's increase per second.
func PerSecondOf(counter func(*record.MachineRow) float64) func(Pair) float64 {
	return func(s Pair) float64 { return s.Rate(counter) }
}

// HasNetwork reports whether a row has network counters.
func HasNetwork(r *record.MachineRow) bool {
	kind := r.Kind()
	return kind == record.WholeMachineRow || kind == record.NetworkRow
}

// HasMembers reports whether members ran on a machine in machines.csv. If the record does not list
// the hosts with members, HasMembers assumes that every machine has members, except the generator's
// machine if the members do not share it.
func HasMembers(t *record.Trial, machine string) bool {
	if len(t.ByHost) > 0 {
		return slices.ContainsFunc(t.ByHost, func(h measure.Host) bool { return h.HasMembers && h.Machine == machine })
	}
	return machine != record.MachineName || t.SharesMachine != nil && *t.SharesMachine
}

// IOFull returns the time in which all tasks waited for disks, in seconds.
func IOFull(r *record.MachineRow) float64 { return r.IOFull }

// MemoryFull returns the time in which all tasks waited for memory, in seconds.
func MemoryFull(r *record.MachineRow) float64 { return r.MemoryFull }

// Queue returns the number of requests to a disk in flight, integrated over time.
func Queue(r *record.MachineRow) float64 { return r.Queue }

// Flushes returns the number of flushes of a disk.
func Flushes(r *record.MachineRow) float64 { return r.DiskFlushes }

// FlushTime returns the total duration of the flushes of a disk, in seconds.
func FlushTime(r *record.MachineRow) float64 { return r.FlushTime }

// Retransmitted returns the number of retransmitted TCP segments.
func Retransmitted(r *record.MachineRow) float64 { return r.Retransmitted }

// Segments returns the number of sent TCP segments.
func Segments(r *record.MachineRow) float64 { return r.Segments }

// Throttled returns the time for which CPU limits stopped the processes, in seconds.
func Throttled(r *record.MachineRow) float64 { return r.Throttled }

// MajorFaults returns the number of page faults that read from a disk.
func MajorFaults(r *record.MachineRow) float64 { return r.MajorFaults }
