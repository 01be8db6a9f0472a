package limits

import (
	"fmt"
	"maps"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Kinds of causes that are not read from the members' metrics: limits of the load itself,
// conflicting transactions, and pauses in the members' logs.
const (
	CauseLoad       = "client limit"
	CauseContention = "contention"
	CausePauses     = "member pauses"
)

// Limits above which these causes are reported.
const (
	limitWaiting  = 0.01 // share of the due operations that waited because of the load's own limits
	limitRetries  = 0.5  // mean number of retries of a transaction
	limitFullCPU  = 0.95 // share of all CPUs that must be busy for a second to count as full
	limitFullTime = 0.10 // share of the window's seconds that must be full
	// share of the window for which the members were paused, as a mean over the members
	limitPaused = 0.02

	// A process that is limited by one busy thread uses between minThreadUse and maxThreadUse CPUs
	// in most seconds of the window. A process with several busy threads rarely stays in this
	// range.
	minThreadUse, maxThreadUse = 0.92, 1.03
	minShareOfSeconds          = 0.9
	minSeconds                 = 5 // the minimum number of rows (one per second)
)

// operationWaits checks the limits of the load itself, which make operations wait before a member
// receives them. Rule R16 reports the effect on the times.
func operationWaits(t *record.Trial) (out []*Cause) {
	for _, limit := range []struct {
		n    uint64
		text string
	}{
		{t.WaitedForLimit, fmt.Sprintf("waited because %s operations, the allowed maximum, were in flight; raise max-in-flight (rule R16 reports the effect)", text.Count(uint64(max(t.MaxInFlight, 0))))},
		{t.WaitedForConnection, fmt.Sprintf("waited for one of the %s; use more connections (rule R16 reports the effect)", text.Plural(uint64(max(t.Connections, 0)), "connection"))},
	} {
		// If the trial had a fault, the fault may have caused some of these waits, and the record
		// does not show which ones.
		if share := float64(limit.n) / float64(max(t.Due, 1)); t.Open() && !samples.HasFault(t) {
			out = append(out, causeIfExceeded(CauseLoad, "", share, limitWaiting,
				fmt.Sprintf("%s of %s that became due (%s) %s", text.Count(limit.n), text.Plural(t.Due, "operation"), text.Share(share), limit.text)))
		}
	}
	// A client that does not share its connection waits only if the connection is lost, and a fault
	// may close connections.
	if share := t.ConnectionWaitShare(); share > record.MaxConnectionWaitShare && t.Clients > t.Connections && !samples.HasFault(t) {
		out = append(out, causeIfExceeded(CauseLoad, "", share, record.MaxConnectionWaitShare,
			fmt.Sprintf("operations spent %s of their response time waiting for a connection, because %s shared %s; use more connections",
				text.Share(share), text.Plural(uint64(max(t.Clients, 0)), "client"), text.Plural(uint64(max(t.Connections, 0)), "connection"))))
	}
	return out
}

// contention checks how often transactions were retried because another transaction had written the
// keys that they read.
func contention(t *record.Trial) *Cause {
	if t.Retries == nil || t.Operations == 0 {
		return nil
	}
	again := float64(*t.Retries) / float64(t.Operations)
	return causeIfExceeded(CauseContention, "", again, limitRetries, fmt.Sprintf("transactions were retried %.2g times on average because other transactions had written the keys that they read (%s keys, %s)",
		again, text.Count(t.KeySpace), t.Distribution))
}

// machineSeconds checks the CPU use in each second (from machines.csv), because a mean over the
// window can hide full seconds. It does not report the whole machine if the machine's mean already
// exceeds the limit.
func machineSeconds(t *record.Trial) (out []*Cause) {
	if t.Machine == nil || t.Machine.CPUs < 2 || t.Opened == nil {
		return nil // with a single CPU, one busy thread fills the machine
	}
	used := map[string][]float64{} // CPUs used in each second, by row name
	samples.EachPair(t.Machines, samples.WindowOf(t), func(s samples.Pair) {
		here := s.Later.Machine == "" || s.Later.Machine == record.MachineName
		if r := s.Later; r.IsMember() && here || r.Name == record.MachineName {
			used[r.Name] = append(used[r.Name], s.Processors())
		}
	})
	for _, name := range slices.Sorted(maps.Keys(used)) {
		seconds := used[name]
		if len(seconds) < minSeconds {
			continue
		}
		if name == record.MachineName {
			out = append(out, fullSeconds(t, seconds))
		} else {
			out = append(out, singleThread(t, name, seconds))
		}
	}
	return out
}

// shareWithin returns the number and the share of the figures that are between `minimum` and
// `maximum`.
func shareWithin(figures []float64, minimum, maximum float64) (n int, share float64) {
	for _, x := range figures {
		if x >= minimum && x <= maximum {
			n++
		}
	}
	return n, float64(n) / float64(len(figures))
}

func fullSeconds(t *record.Trial, seconds []float64) *Cause {
	all := float64(t.Machine.CPUs)
	// the upper bound is above the number of CPUs, because the counters and the clock are not read
	// at exactly the same moment
	n, share := shareWithin(seconds, limitFullCPU*all, 2*all)
	if t.BusyShare != nil && *t.BusyShare > limitBusy {
		return nil
	}
	return causeIfExceeded(CauseCPU, "", share, limitFullTime,
		fmt.Sprintf("in %d of the window's %d seconds, all %d CPUs of this machine were busy (over %s)", n, len(seconds), t.Machine.CPUs, text.Share(limitFullCPU)))
}

func singleThread(t *record.Trial, member string, seconds []float64) *Cause {
	n, share := shareWithin(seconds, minThreadUse, maxThreadUse)
	if share < minShareOfSeconds {
		return nil
	}
	mean := 0.0
	for _, x := range seconds {
		mean += x / float64(len(seconds))
	}
	return &Cause{Kind: CauseCPU, Member: member, Figure: mean, Limit: minThreadUse,
		Text: fmt.Sprintf("member %s used about one of this machine's %d CPUs (%.2f on average; in %d of %d seconds, %.2f to %.2f), so a single thread limits the member",
			member, t.Machine.CPUs, mean, n, len(seconds), minThreadUse, maxThreadUse)}
}

// pauses checks how long members were paused according to their own logs, either for a garbage
// collection or because a log sync waited for the disk. Pauses during a fault are ignored, because
// the fault may have caused them.
func pauses(t *record.Trial) (out []*Cause) {
	if t.Opened == nil {
		return nil
	}
	window := samples.WindowOf(t)
	own := slices.DeleteFunc(analyze.EventsInSpan(analyze.DropPolledElections(analyze.CombineSnapshotEvents(t.Events)), window), func(e record.Event) bool { return samples.OverlapsFault(t, samples.Span{From: e.Began(), To: e.Time}) })
	for _, all := range analyze.SelectCounted(own) {
		share := all.Total.Seconds() / (max(t.Seconds, 1e-9) * float64(max(t.Members, 1)))
		what, ok := map[store.SignalKind]string{store.GCPause: "stopped for garbage collection", store.SlowFsync: "waited for slow log syncs"}[all.Kind]
		if ok {
			out = append(out, causeIfExceeded(CausePauses, all.Longest.Member, share, limitPaused,
				fmt.Sprintf("members %s for %s in total in a window of %s, according to their logs; the longest pause was %s, at member %s",
					what, durationText(all.Total), text.Seconds(t.Seconds), durationText(all.Longest.Duration), all.Longest.Member)))
		}
	}
	return out
}
