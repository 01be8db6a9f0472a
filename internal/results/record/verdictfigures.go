package record

import (
	"cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// figures returns the inputs of the verdict's rules. The parameter `all` contains all cells of the
// totals m.
func (t *Trial) figures(o *Observed, all *measure.Cell, m, warmup *measure.Totals) verdict.Figures {
	f := verdict.Figures{
		Measured: m, Warmup: warmup, Merged: all, OpenLoop: t.Open(), Interrupted: t.State == Interrupted,
		Headline: t.Headline().Summary, HeadlineIsResponse: t.HeadlineTime() == Response,
		Load: verdict.Load{
			Clients: t.Clients, Connections: t.Connections, MaxInFlight: t.MaxInFlight, ConnectionWaitNS: t.ConnectionWaitNS,
			HasWrites: t.HasKind(kv.Kind.Writes), HasDeletes: t.HasKind(func(k kv.Kind) bool { return k == kv.Delete }),
			Preloaded: t.Preload, ValueSize: t.ValueSize, AllowVolatile: t.AllowVolatile, WatchesGivenKey: t.Load.Watch != nil && len(t.Load.Watch.Key) > 0,
		},
		Generator: verdict.Generator{
			Loops: t.Loops, Added: t.Overhead.figures(), Machine: t.Machine,
			ThrottledNS: measure.OrZero(t.ThrottledNS), MembersOnMachine: measure.OrZero(t.SharesMachine), ForeignKnown: t.ForeignShare != nil,
			StolenShare: measure.OrZero(t.StolenShare), BusyShare: measure.OrZero(t.BusyShare), ForeignShare: measure.OrZero(t.ForeignShare),
		},
		Workers: t.judgedWorkers(m.Workers(), o.RanForLoad), Hosts: t.ByHost, ControllerClock: t.ClockChanges,
		Cluster:    verdict.Cluster{LostMembers: t.LostMembers, TermChanges: t.TermChanges - t.TermChangesInFaults},
		Faults:     verdict.Faults{Injected: countInjected(t.Faults), ErrorsInFaults: t.ErrorsInFaults, FaultFailures: failedFaults(t.Faults)},
		Durability: t.Durability,
	}
	if o.DoneCounts != nil {
		f.DoneEachSecond = o.DoneCounts.Total
	}
	if t.Hashes != nil {
		f.Disagreement, f.Incomparable = t.Hashes.disagreement(), t.Hashes.Failure
	}
	if a := t.Verification; a != nil {
		f.BrokenGuarantees, f.Unverified = a.WrongResponsesText(), cmp.Or(a.Failure, a.unreadMembers(), a.unverifiedText())
		f.HistoryShare = measure.OrZero(a.DiskShare)
	}
	f.MembersBusy, f.OperationCPUNS = t.memberWork()
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
	used := max((*t.BusyShare-measure.OrZero(t.ForeignShare))*whole-t.CPUSeconds, 0)
	if t.StoreCPUSeconds != nil {
		used = *t.StoreCPUSeconds
	}
	return min(used/whole, 1), 1e9 * used / float64(t.Completed)
}
