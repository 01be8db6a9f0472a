package analyze

import (
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// pair holds two consecutive rows of machines.csv with the same name.
type pair struct {
	earlier, later *record.MachineRow
	seconds        float64
}

// MaxEdgeDistance is the maximum distance in time at which a sample outside a span still counts as
// part of the span.
const MaxEdgeDistance = time.Second / 2

// eachPair calls the function `each` for every pair of consecutive rows in a span of time. Two rows
// are not a pair if there is a gap, a process restart or a counter reset between them.
func eachPair(rows []record.MachineRow, span Span, each func(pair)) {
	eachMatchingPair(rows, span, (*record.MachineRow).Follows, each)
}

// eachMatchingPair does the same as eachPair, but the caller provides the function that decides
// whether two rows are consecutive.
func eachMatchingPair(rows []record.MachineRow, span Span, follows func(now, before *record.MachineRow) bool, each func(pair)) {
	before := map[string]*record.MachineRow{}
	for i := range rows {
		now := &rows[i]
		last := before[now.Name]
		before[now.Name] = now
		if last != nil && follows(now, last) && !last.Time.Before(span.From.Add(-MaxEdgeDistance)) && !now.Time.After(span.To.Add(MaxEdgeDistance)) {
			each(pair{last, now, now.Time.Sub(last.Time).Seconds()})
		}
	}
}

// allTime is a span that contains all times.
var allTime = Span{time.Unix(0, 0), time.Unix(1<<40, 0)}

// middle returns the middle of the time between the two rows.
func (s pair) middle() time.Time { return s.earlier.Time.Add(s.later.Time.Sub(s.earlier.Time) / 2) }

// increase returns the increase of a counter. It returns NaN if the counter is unknown or
// decreased.
func (s pair) increase(counter func(*record.MachineRow) float64) float64 {
	if d := counter(s.later) - counter(s.earlier); d >= 0 {
		return d
	}
	return math.NaN()
}

// rate returns the increase of a counter per second. If the counter counts seconds, the rate is a
// share of the time.
func (s pair) rate(counter func(*record.MachineRow) float64) float64 {
	return s.increase(counter) / s.seconds
}

// mean returns the increase of one counter divided by the increase of another counter. It returns
// NaN if the second counter did not increase.
func (s pair) mean(sum, count func(*record.MachineRow) float64) float64 {
	n := s.increase(count)
	if !(n > 0) {
		return math.NaN()
	}
	return s.increase(sum) / n
}

// processors returns the number of CPUs in use.
func (s pair) processors() float64 { return s.rate((*record.MachineRow).CPU) }

// cores returns, for each CPU of a machine, the share of the time in which the CPU was busy. It
// returns nil if a share is unknown.
func (s pair) cores() (all []float64) {
	if len(s.later.Cores) != len(s.earlier.Cores) { // a CPU was added or removed
		return nil
	}
	for i, busy := range s.later.Cores {
		share := (busy - s.earlier.Cores[i]) / s.seconds
		if !(share >= 0) {
			return nil
		}
		all = append(all, min(share, 1))
	}
	return all
}

// hasMembers reports whether members ran on a machine in machines.csv. If the record does not list
// the hosts with members, hasMembers assumes that all machines except the generator's have members.
func hasMembers(t *record.Trial, machine string) bool {
	if len(t.ByHost) > 0 {
		return slices.ContainsFunc(t.ByHost, func(h measure.Host) bool { return h.HasMembers && h.Machine == machine })
	}
	return machine != record.MachineName || t.SharesMachine != nil && *t.SharesMachine
}

// Counters from which findings and charts are computed.
func ioFull(r *record.MachineRow) float64        { return r.IOFull }
func memoryFull(r *record.MachineRow) float64    { return r.MemoryFull }
func queue(r *record.MachineRow) float64         { return r.Queue }
func flushes(r *record.MachineRow) float64       { return r.DiskFlushes }
func flushTime(r *record.MachineRow) float64     { return r.FlushTime }
func retransmitted(r *record.MachineRow) float64 { return r.Retransmitted }
func segments(r *record.MachineRow) float64      { return r.Segments }
func throttled(r *record.MachineRow) float64     { return r.Throttled }
func majorFaults(r *record.MachineRow) float64   { return r.MajorFaults }
