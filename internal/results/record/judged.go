package record

import (
	"cmp"
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// figures returns the facts that the verdict's rules need. ranForLoad is the value of
// Observed.RanForLoad.
func (t *Trial) figures(all *measure.Cell, m, warmup *measure.Totals, ranForLoad *float64) verdict.Figures {
	f := verdict.Figures{
		OpenLoop: t.Open(), Interrupted: t.State == Interrupted, Seconds: t.Seconds,
		Due: t.Due, Succeeded: t.Operations, Failed: t.Errors, FailedByKind: t.ErrorsByKind, Timed: measure.Count(all.Response) + all.CountFailed(),
		Misses: t.Misses, EmptyKinds: alwaysMissing(m), WrongResponses: t.WrongResponses, Unattributed: m.Unattributed, Done: t.Completed,
		ServiceP50NS: measure.Percentile(all.Service, 0, 50).NS,
		Response:     t.SuccessResponseTime.Summary,
		Headline:     t.Headline().Summary,
		Load: verdict.Load{
			Clients: t.Clients, MeanInFlight: t.MeanInFlight, MeanResting: t.MeanPausedClients + t.meanInactiveClients(), MaxInFlight: t.MaxInFlight,
			WaitedForLimit: t.WaitedForLimit, WaitedForConnection: t.WaitedForConnection, InFlightAtStart: t.InFlightAtStart, OldestInFlightAgeNS: t.OldestInFlightAgeNS,
			HasWrites: t.hasKind(kv.Kind.Writes), HasDeletes: t.hasKind(func(k kv.Kind) bool { return k == kv.Delete }),
			Preloaded: t.Preload, ValueSize: t.ValueSize, Waiting: waitTimes(&m.Disturbance),
			Connections: t.Connections, ConnectionWaitNS: t.ConnectionWaitNS, HeadlineIsResponse: t.HeadlineTime() == Response,
		},
		Generator: verdict.Generator{
			Loops: t.Loops, LoopCPUNS: t.LoopCPUNS, RunDelayNS: t.RunDelayNS, PausedNS: m.Paused, LongestPauseNS: t.LongestPauseNS,
			ThrottledNS: orZero(t.ThrottledNS), MembersOnMachine: orZero(t.SharesMachine), ForeignKnown: t.ForeignShare != nil,
			StolenShare: orZero(t.StolenShare), BusyShare: orZero(t.BusyShare), ForeignShare: orZero(t.ForeignShare),
		},
		Cluster:    verdict.Cluster{LostMembers: t.LostMembers, TermChanges: t.TermChanges - t.TermChangesInFaults},
		Faults:     verdict.Faults{Injected: countInjected(t.Faults), ErrorsInFaults: t.ErrorsInFaults, FaultFailures: failedFaults(t.Faults)},
		Durability: verdict.Durability{VolatileAllowed: t.AllowVolatile},
	}
	if warmup != nil {
		f.WrongResponses += warmup.Outcomes[kv.WrongResponse]
		f.Unattributed += warmup.Unattributed
	}
	if t.ByWorker != nil {
		f.Workers = t.workers(m, ranForLoad)
	}
	f.Hosts, f.ControllerClock = t.hosts(), t.ClockChanges
	f.Added = t.Overhead.figures()
	f.TotalNS, f.LongestNS = totalTimes(all, m, warmup)
	if t.Watch != nil {
		f.Events = t.Watch.figures(t.Load.Watch, &m.Watch)
	}
	if t.Hashes != nil {
		f.Disagreement, f.Incomparable = t.Hashes.disagreement(), t.Hashes.Failure
	}
	if a := t.Verification; a != nil {
		f.BrokenGuarantees, f.Unverified = a.WrongResponsesText(), cmp.Or(a.Failure, a.unreadMembers(), a.unverifiedText())
		f.HistoryShare = orZero(a.DiskShare)
	}
	if m.Disturbance.OwnDelay != nil {
		f.GeneratorLatenessP99NS = measure.Percentile(m.Disturbance.OwnDelay, 0, 99).NS
	}
	if t.Machine != nil {
		f.Processors = t.Machine.CPUs
	}
	headline := all.Service
	if t.HeadlineTime() == Response {
		headline = all.Response
	}
	f.Quantile = func(p float64) float64 { return measure.Percentile(headline, t.Errors, p).NS }
	f.MembersBusy, f.OperationCPUNS = t.memberWork()
	if d := t.Durability; d != nil {
		f.DurabilityKnown, f.FileSystem, f.Volatile, f.Unsynced = true, d.FileSystem, d.Volatile, !d.Synced
	}
	return f
}

// memberWork returns upper bounds for two numbers: the share of the machine's CPU time that the
// members used, and the members' CPU time per operation in nanoseconds. If the resource use of the
// members' processes is not known, all CPU time that neither the generator nor other programs used
// is attributed to the members. Both results are 0 if they are not known.
func (t *Trial) memberWork() (share, operation float64) {
	if t.Machine == nil || t.Machine.CPUs <= 0 || t.Seconds <= 0 || t.Completed == 0 || t.BusyShare == nil {
		return 0, 0
	}
	whole := float64(t.Machine.CPUs) * t.Seconds
	used := max((*t.BusyShare-orZero(t.ForeignShare))*whole-t.CPUSeconds, 0)
	if t.StoreCPUSeconds != nil {
		used = *t.StoreCPUSeconds
	}
	return min(used/whole, 1), 1e9 * used / float64(t.Completed)
}

// windowHalves summarizes the two halves of the window. It uses only whole seconds. If their number
// is odd, it omits the middle second.
func windowHalves(a *DoneCounts, seconds float64) (all [2]verdict.Half) {
	if a == nil {
		return all
	}
	whole := min(int(seconds), len(a.Total))
	n := whole / 2
	for i, done := range [][]uint64{a.Total[:n], a.Total[whole-n : whole]} {
		h := &all[i]
		h.Seconds = n
		for _, x := range done {
			h.PerSecond += float64(x) / float64(n)
		}
		if n < 2 {
			continue
		}
		squares := 0.0
		for _, x := range done {
			squares += (float64(x) - h.PerSecond) * (float64(x) - h.PerSecond)
		}
		h.StandardError = math.Sqrt(squares / float64(n-1) / float64(n))
	}
	return all
}

// totalTimes returns the sum of the times of all operations in the window. It also returns the
// longest time of any operation that was in the window or in flight when the window opened. The
// operations that were in flight when the window opened are in the histograms of the warm-up.
// Without these histograms, it assumes that such an operation may have taken as long as the window.
func totalTimes(all *measure.Cell, m, warmup *measure.Totals) (sum, longest float64) {
	sum, most := sumTimes(all)
	longest = float64(most)
	switch {
	case m.InFlightAtStart == 0:
	case warmup == nil:
		longest = math.Max(longest, 1e9*m.Seconds)
	default:
		_, most = sumTimes(warmup.MergedCell())
		longest = math.Max(longest, float64(most))
	}
	return sum, longest
}

// sumTimes returns the sum of the times of all operations in a cell, including those that failed.
// It also returns the longest of these times.
func sumTimes(c *measure.Cell) (sum float64, longest int64) {
	for _, h := range append(c.Failed[:], c.Response) {
		if n := measure.Count(h); n > 0 {
			sum += h.Mean() * float64(n)
			longest = max(longest, h.Max())
		}
	}
	return sum, longest
}

// alwaysMissing lists the kinds of operations that read or delete keys, but never found a key. Each
// entry also has the number of operations of this kind.
func alwaysMissing(m *measure.Totals) (list []string) {
	var done [kv.NumKinds]uint64
	for _, c := range m.Cells {
		done[c.Kind] += measure.Count(c.Response)
	}
	for kind, missed := range m.Misses {
		if missed > 0 && missed == done[kind] {
			list = append(list, fmt.Sprintf("%d %v", missed, kv.Kind(kind)))
		}
	}
	return list
}
