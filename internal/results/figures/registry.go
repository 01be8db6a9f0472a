package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// All returns the registry. It contains every figure of a trial, in the order in which the
// trial's JSON object has them.
var All = sync.OnceValue(func() []Figure {
	var all []Figure
	for _, part := range [][]Figure{operationFigures(), rateFigures(), timeFigures(), flightFigures(), connectionFigures(), costFigures(), disturbanceFigures(), watchFigures(), replayFigures(), callFigures()} {
		all = append(all, part...)
	}
	for i := range all {
		f := &all[i]
		if f.Times != nil {
			continue
		}
		if f.Column == "" {
			f.Column = strings.ReplaceAll(f.Field, ".", "_")
		}
		if f.readValue == nil {
			f.readValue = recorded(f.Field)
		}
	}
	return all
})

// find returns the figure with the given name. Apart from the figures in the registry, it finds
// each percentile of a distribution. Such a percentile must be below 100 and have at most three
// decimals.
func find(name string) (Figure, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(f Figure) bool { return f.Name == name }); i >= 0 && name != "" {
		return all[i], true
	}
	prefix, tail := "", name
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		prefix, tail = name[:i], name[i+1:]
	}
	number, isPercentile := strings.CutPrefix(tail, "p")
	p, err := strconv.ParseFloat(number, 64)
	if !isPercentile || err != nil || !(p > 0 && p < 100) || math.Round(p*1000) != p*1000 {
		return Figure{}, false
	}
	for _, d := range distributions() {
		if d.Prefix == prefix {
			return d.percentile(name, p), true
		}
	}
	return Figure{}, false
}

// Registered returns the figure with the given name. It panics if find does not find the figure.
func Registered(name string) Figure {
	f, ok := find(name)
	if !ok {
		panic(fmt.Sprintf("there is no figure %q", name)) // the program has a defect
	}
	return f
}

// The variables due and expected are totals. Other figures are parts of these totals, and can be
// printed as shares of them.
var (
	due      = &Total{Count: func(t *record.Trial) uint64 { return t.Due }, zeroReason: "no operation was due"}
	expected = &Total{Count: func(t *record.Trial) uint64 { return t.Watch.Expected }, zeroReason: "no event was expected"}
)

// operationFigures returns the figures about the operations due in the window, by outcome.
func operationFigures() []Figure {
	all := []Figure{
		{Name: "warmup", Field: "warmup_seconds_run", Unit: measure.Seconds, MissingReason: "the length of its warm-up is unknown",
			Meaning: "actual duration of the warm-up in a closed loop; `null` in an open loop"},
		{Name: "seconds", Field: "seconds", Unit: measure.Length, Meaning: "exact length of the measurement window"},
		{Name: "due", IntervalKey: "due", Field: "due", Meaning: "operations due in the window; always `operations` + `errors`"},
		{Name: "operations", IntervalKey: "operations", Field: "operations", Direction: HigherIsBetter,
			Meaning: "operations due in the window that completed. Misses, conflicts, stale reads and unverifiable reads count as completed"},
		{Name: "errors", IntervalKey: "errors", Field: "errors", Title: "errors", Direction: LowerIsBetter, Meaning: "operations due in the window that failed, including wrong responses"},
		{Name: "conflicts", Field: "conflicts", Title: "conflicts", Meaning: "compare-and-set operations whose condition did not hold; they are also in `operations`"},
		{Name: "misses", Field: "misses", Meaning: "reads of a key that does not exist; they are also in `operations`"},
		{Name: "stale", Field: "stale", Direction: LowerIsBetter,
			Meaning: "reads that returned the value of an earlier write by quorumbench, in this run or in a previous run; they are also in `operations`"},
		{Name: "unverifiable", Field: "unverifiable",
			Meaning: "reads of a value shorter than 16 bytes, which has no checksum; they are also in `operations`"},
		{Name: "keys-read", Field: "keys_read", Unit: measure.Number, MissingReason: "its operations read no keys",
			Meaning: "number of keys that the completed get, exists, range and txn-get operations returned or counted; `null` without such operations"},
		{Name: "keys-per-op", Column: "keys_read_per_operation", Title: "keys/op", Unit: measure.Ratio, Requires: manyKeys, MissingReason: "no operation completed",
			Meaning: "`keys_read` / `operations`",
			readValue: ratio(func(t *record.Trial) (float64, uint64) {
				if t.KeysRead == nil || !manyKeys.Has(&t.Conditions) {
					return 0, 0
				}
				return float64(*t.KeysRead), t.Operations
			})},
		{Name: "wrong-responses", Field: "wrong_responses", Direction: LowerIsBetter,
			Meaning: "wrong responses, which are also in `errors`. A response is wrong in the following cases: its key is not the requested key, or its value is damaged; a linearizable read returns a value that was replaced before the read began; a range has keys outside the requested interval, keys out of order, or more keys than its limit"},
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		kind := o.String()
		all = append(all, Figure{Name: "errors-" + strings.ReplaceAll(kind, "_", "-"), Column: "errors_" + kind, Direction: LowerIsBetter, Meaning: "`errors` of the kind `" + kind + "`",
			readValue: func(t *record.Trial) Value { return Value{Number: float64(t.ErrorsByKind[kind]), Known: true} }})
	}
	for i := range all {
		if f := &all[i]; f.Unit == 0 {
			f.Unit, f.Total = measure.Number, due
		}
	}
	return append(all, Figure{Name: "error-share", Column: "error_share", Unit: measure.Share, Direction: LowerIsBetter, Total: due, MissingReason: due.zeroReason,
		Meaning:   "`errors` / `due`",
		readValue: ratio(func(t *record.Trial) (float64, uint64) { return float64(t.Errors), t.Due })})
}

// rateFigures returns the figures about throughput.
func rateFigures() []Figure {
	return []Figure{
		{Name: "completed", IntervalKey: "completed", Field: "completed_in_window", Unit: measure.Number, Direction: HigherIsBetter,
			Meaning: "successful operations whose response arrived in the window, even if they were due before the window"},
		{Name: "ops", IntervalKey: "operations_per_second", Field: "operations_per_second", Title: "throughput", Unit: measure.Rate, Direction: HigherIsBetter,
			Meaning: "`completed_in_window` / `seconds`"},
		{Name: "gap", Field: "longest_gap_seconds", Title: "gap", Unit: measure.Seconds, Direction: LowerIsBetter, ResolutionLimit: 0.001,
			Meaning: "longest time without a completed operation, accurate to 1 ms"},
		{Field: "longest_gap_at_seconds", Unit: measure.Seconds,
			Meaning: "start of the longest gap, in seconds after the start of the window; `null` if the gap is shorter than 1 ms"},
		{Field: "failed_from_percentile", Unit: measure.Number, Direction: HigherIsBetter,
			Meaning: "100 × `operations` / `due`. For every percentile above this number, the operation at its rank failed. `null` if no operation failed"},
	}
}

// timeFigures returns the figures that belong to distributions of times.
func timeFigures() []Figure {
	var all []Figure
	for _, d := range distributions() {
		all = append(all, d.points()...)
		if d.Prefix == "lateness" {
			p99 := d.percentile("lateness", 99)
			p99.point = func(t record.Times) measure.Figure { return t.Percentile(99) }
			all = append(all, p99)
		}
	}
	const none = "no operation was due"
	return append(all,
		Figure{Name: "slowest", Field: "slowest_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter, MissingReason: none,
			Meaning: "longest time from when an operation was due until it ended, including failed operations; absent if no operation was due"},
		Figure{Name: "spread", Field: "spread_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter, MissingReason: none,
			Meaning: "standard deviation of the time from when an operation was due until it ended; absent if no operation was due"},
		Figure{Name: "rate-share", Column: "rate_share", Unit: measure.Share, Direction: HigherIsBetter, MissingReason: "it has no rate",
			Meaning: "open loop: throughput / `rate`",
			readValue: func(t *record.Trial) Value {
				if t.Rate == nil || *t.Rate <= 0 {
					return Value{}
				}
				return Value{Number: t.PerSecond / *t.Rate, Known: true}
			}})
}

// flightFigures returns the figures about operations in flight and about the fairness between
// clients.
func flightFigures() []Figure {
	return []Figure{
		{Name: "carried-in", Field: "carried_in", Unit: measure.Number, Total: due,
			Meaning: "operations in flight when the window opened"},
		{Name: "carried-in-age", Field: "carried_in_age_ns", Unit: measure.Nanoseconds,
			Meaning: "age of the oldest operation in flight when the window opened"},
		{Name: "retries", Field: "retries", Unit: measure.Number, Direction: LowerIsBetter, Requires: stmWrites, MissingReason: "it has no record of its transactions' retries",
			Meaning: "number of times that completed `stm` operations restarted because of a conflict; only with `stm` operations"},
		{Name: "retries-per-op", Column: "retries_per_operation", Unit: measure.Ratio, Direction: LowerIsBetter, Requires: stmWrites, MissingReason: "no transaction completed",
			Meaning: "`retries` / `operations`",
			readValue: ratio(func(t *record.Trial) (float64, uint64) {
				if t.Retries == nil {
					return 0, 0
				}
				return float64(*t.Retries), t.Operations
			})},
		{Name: "max-in-flight", Field: "max_in_flight", Unit: measure.Number,
			Meaning: "highest number of operations that were due and not yet done at the same time"},
		{Name: "in-flight", Field: "mean_in_flight", Unit: measure.Number,
			Meaning: "time-averaged number of operations that were due and not yet done"},
		{Name: "capped", Field: "in_flight_capped", Unit: measure.Number, Direction: LowerIsBetter,
			Meaning: "operations that waited because `max-in-flight` was reached"},
		{Name: "waited-for-connection", Field: "waited_for_connection", Unit: measure.Number, Direction: LowerIsBetter,
			Meaning: "open loop: operations that found every connection occupied (an HTTP/1.1 connection takes one operation at a time)"},
		{Name: "connection-wait", Field: "connection_wait_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter,
			Meaning: "closed loop: mean time for which an operation waited because other clients' operations occupied its connection. If this is more than 3 % of the mean response time, tables show the response time first, instead of the service time"},
		{Name: "paused-clients", Field: "mean_paused_clients", Unit: measure.Number,
			Meaning: "closed loop: time-averaged number of clients that were pausing because the store had refused an operation"},
		{Name: "fairness", Field: "by_client.fairness", Column: "fairness", Unit: measure.Ratio, Direction: HigherIsBetter, Requires: closedLoop, MissingReason: "it has no record of its clients",
			Meaning: "closed loop: Jain's fairness index of the number of operations that each client completed. It is 1 if all clients completed the same number, and k/n if k of n clients completed the same number and the other clients none. Only operations that were due in the window are included",
			readValue: func(t *record.Trial) Value {
				if t.ByClient == nil || t.ByClient.FairnessIndex == nil {
					return Value{}
				}
				return Value{Number: *t.ByClient.FairnessIndex, Known: true}
			}},
	}
}

// connectionFigures returns the figures about connections, members and workers.
func connectionFigures() []Figure {
	const alone = "one worker generated the load"
	return []Figure{
		{Name: "reconnects", Field: "reconnects", Unit: measure.Number, Direction: LowerIsBetter, Total: due,
			Meaning: "number of times that a connection was re-established"},
		{Name: "sessions-expired", Field: "sessions_expired", Unit: measure.Number, Direction: LowerIsBetter, Total: due,
			Meaning: "sessions that could not be resumed after a reconnect, because they had expired at the server. The server deletes the keys of an expired session"},
		{Name: "bytes-in", IntervalKey: "bytes_in", Field: "bytes_in", Unit: measure.Bytes,
			Meaning: "bytes received on all connections"},
		{Name: "bytes-out", IntervalKey: "bytes_out", Field: "bytes_out", Unit: measure.Bytes,
			Meaning: "bytes sent on all connections"},
		{Name: "extra-requests", Field: "extra_requests", Unit: measure.Number, Total: due,
			Meaning: "additional requests of completed operations, beyond one request per operation"},
		{Name: "late-responses", Field: "late_responses", Title: "late responses", IntervalKey: "late_responses", Unit: measure.Number, Direction: LowerIsBetter, Total: due,
			Meaning: "responses that arrived in the window after their operation had timed out, which shows that the operation was slow, not lost. They occur with stores that respond in order, such as ZooKeeper. No response arrives if the request was cancelled or the connection was replaced"},
		{Name: "lost-members", Unit: measure.Number, Direction: LowerIsBetter, Total: due, Column: "lost_members", Meaning: "number of members that were lost during the trial; the list `lost_members` has their names",
			readValue: func(t *record.Trial) Value { return Value{Number: float64(len(t.LostMembers)), Known: true} }},
		{Name: "leader-changes", Field: "leader_changes", Unit: measure.Number, Total: due,
			Meaning: "leader changes in the window, according to the times in events.jsonl", readValue: func(t *record.Trial) Value { return Value{Number: float64(max(t.TermChanges, 0)), Known: true} }},
		{Name: "held-clients", Field: "held_clients", Unit: measure.Number, Direction: LowerIsBetter,
			Meaning: "clients of a closed loop that still waited for a response from the old member after the load had moved to another member; 0 in an open loop"},
		{Name: "held-longest", Field: "held_longest_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter,
			Meaning: "longest time for which a client in `held_clients` waited after the load had moved"},
		{Name: "start-spread", Field: "start_spread_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter, MissingReason: alone,
			Meaning: "several workers: time from the start of the first worker's window until half of the workers had started their window. It is measured with the workers' own clocks, which are corrected to within `clock_bound_ns`. With one worker, this figure and the next two are absent"},
		{Name: "start-latest", Field: "start_latest_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter, MissingReason: alone,
			Meaning: "time from the start of the first worker's window to the start of the last worker's window; `by_worker` shows which worker was last"},
		{Name: "merged-after", Field: "merged_after_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter, MissingReason: alone,
			Meaning: "time from the end of the window until the results of all workers were merged; it includes the wait for operations in flight"},
	}
}

// costFigures returns the figures about the resource use of the generator and the members.
func costFigures() []Figure {
	const uncounted = "the members' disk writes are unknown: this run did not start the members, their file system is in memory, the system reports no writes, or nothing was written"
	const idle, unseen, unwritten = "no operation completed, or a worker was lost", "the resource use of the members' processes is unknown", "the number of written keys and bytes is unknown"
	return []Figure{
		{Name: "cpu", Field: "client_cpu_seconds", Unit: measure.Seconds, Direction: LowerIsBetter,
			Meaning: "CPU time that the load generator used, user and system, without lost workers"},
		{Name: "cpu-per-op", Field: "client_cpu_ns_per_operation", Title: "gen CPU/op", Unit: measure.Nanoseconds, Direction: LowerIsBetter, MissingReason: idle,
			Meaning: "`client_cpu_seconds` / `completed_in_window`; `null` if a worker was lost"},
		{Name: "rss", Field: "client_max_rss_bytes", Unit: measure.Bytes, Direction: LowerIsBetter,
			Meaning: "peak resident memory of the load generator, without lost workers"},
		{Name: "sampling-cpu", Field: "sampling_cpu_seconds", Unit: measure.Seconds, Direction: LowerIsBetter, MissingReason: "the CPU time spent collecting samples is unknown",
			Meaning: "CPU time spent collecting the process and machine samples in machines.csv, summed over all machines. The part spent on the generator's machine is also in `client_cpu_seconds`. Absent if the system does not report CPU time"},
		{Name: "sampling-share", Column: "sampling_cpu_share", Unit: measure.Share, Direction: LowerIsBetter, MissingReason: "the CPU time spent collecting samples is unknown",
			Meaning: "`sampling_cpu_seconds` / `seconds`: mean number of CPUs used to collect the samples",
			readValue: func(t *record.Trial) Value {
				if t.SamplingCPUSeconds == nil || t.Seconds <= 0 {
					return Value{}
				}
				return Value{Number: *t.SamplingCPUSeconds / t.Seconds, Known: true}
			}},
		{Name: "store-cpu", SumsMembers: true, Field: "store_cpu_seconds", Unit: measure.Seconds, Direction: LowerIsBetter, MissingReason: unseen,
			Meaning: "CPU time, user and system, that all processes of the members used. For a proxy, this includes the processes of the proxy and of its store. `null` if this run did not start the members or the system does not report CPU time"},
		{Name: "store-cpu-per-op", SumsMembers: true, Field: "store_cpu_ns_per_operation", Title: "store CPU/op", Unit: measure.Nanoseconds, Direction: LowerIsBetter, MissingReason: unseen,
			Meaning: "`store_cpu_seconds` / `completed_in_window`"},
		{Name: "store-rss", SumsMembers: true, Field: "store_max_rss_bytes", Title: "store RSS", Unit: measure.Bytes, Direction: LowerIsBetter, MissingReason: unseen,
			Meaning: "sum of the peak resident memory of all processes of the members"},
		{Name: "keys-written", Field: "keys_written", Unit: measure.Number, Requires: writes, MissingReason: unwritten,
			Meaning: "number of keys written or deleted by the operations that completed in the window. A key that is written twice counts twice. This figure and the next seven are absent if the load writes nothing or the number is unknown"},
		{Name: "user-written", Field: "user_bytes_written", Unit: measure.Bytes, Requires: writes, MissingReason: unwritten,
			Meaning: "total size of the keys in `keys_written`, including prefixes, and of their values"},
		{Name: "store-written", SumsMembers: true, Field: "store_written_bytes", Unit: measure.Bytes, Direction: LowerIsBetter, Requires: writes, MissingReason: uncounted,
			Meaning: "bytes that the processes of all members wrote to disk in the window, in whole pages, including the members' own bookkeeping. Absent if this run did not start the members, their file system is in memory, or the system does not report disk writes"},
		{Name: "write-amplification", SumsMembers: true, Field: "write_amplification", Title: "disk/user", Unit: measure.Ratio, Direction: LowerIsBetter, Requires: writes, MissingReason: uncounted, Wide: true,
			Meaning: "`store_written_bytes` / `user_bytes_written`. For example, it is 3 if each of three members writes all data once"},
		{Name: "database-growth", SumsMembers: true, Field: "store_database_growth_bytes", Unit: measure.Bytes, Requires: writes, MissingReason: "the size of the members' databases is unknown",
			Meaning: "growth of the databases on disk during the window, as reported by the members, summed over all members; negative if the databases shrank"},
		{Name: "disk-per-key", SumsMembers: true, Field: "store_database_bytes_per_key", Title: "disk/key", Unit: measure.Bytes, Direction: LowerIsBetter, Requires: writes, MissingReason: "the members' databases did not grow, or their size is unknown", Wide: true,
			Meaning: "`store_database_growth_bytes` / `keys_written`; absent if the databases did not grow. A database grows in steps (etcd's by up to 16 MiB), so a short window gives a coarse value"},
		{Name: "rss-growth", SumsMembers: true, Field: "store_rss_growth_bytes", Unit: measure.Bytes, Requires: writes, MissingReason: unseen,
			Meaning: "growth of the members' resident memory during the window, summed over all members; negative if the memory shrank"},
		{Name: "rss-per-key", SumsMembers: true, Field: "store_rss_bytes_per_key", Title: "RSS/key", Unit: measure.Bytes, Direction: LowerIsBetter, Requires: writes, MissingReason: "the members' memory did not grow, or its size is unknown", Wide: true,
			Meaning: "`store_rss_growth_bytes` / `keys_written`; absent if the memory did not grow. The memory includes pages that a language runtime has freed but not yet returned to the system. So only a long load that writes new keys gives an accurate value"},
	}
}

// disturbanceFigures returns the figures about disturbances that affected the load generator.
func disturbanceFigures() []Figure {
	const unknown = "the system does not report it"
	return []Figure{
		{Name: "loop-cpu", Field: "loop_cpu_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter,
			Meaning: "CPU time of the event loops' threads"},
		{Name: "longest-pause", Field: "longest_pause_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter,
			Meaning: "longest delay of an event loop's wake-up or longest iteration of an event loop, whichever is longer"},
		{Name: "run-delay", Field: "run_delay_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter,
			Meaning: "run queue wait of the event loops' threads; 0 if the system does not report it"},
		{Name: "run-slices", Field: "run_slices", Unit: measure.Number,
			Meaning: "number of times that the event loops' threads were scheduled on a CPU; 0 if the system does not report it"},
		{Name: "paused", Field: "paused_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter,
			Meaning: "total delay of the event loops: the delays of their wake-ups, and the part of each iteration that the loop's own work does not explain. Delays shorter than 1 ms are omitted"},
		{Name: "throttled", Field: "throttled_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter, MissingReason: unknown,
			Meaning: "time for which the generator was stopped by the CPU limit of its control group (rule R6)"},
		{Name: "steal", Field: "cpu_steal_share", Unit: measure.Share, Direction: LowerIsBetter, MissingReason: unknown,
			Meaning: "CPU steal: share of the machine's CPU time that the hypervisor withheld (rule R10)"},
		{Name: "busy", Field: "busy_cpu_share", Unit: measure.Share, MissingReason: unknown,
			Meaning: "share of the machine's CPU time that any program used"},
		{Name: "foreign", Field: "foreign_cpu_share", Unit: measure.Share, Direction: LowerIsBetter, MissingReason: unknown,
			Meaning: "share of the machine's CPU time that programs other than the generator and the members used (rule R23). `null` unless quorumbench knows the members' processes because it started them on this machine, or found them by the endpoints on which they listen"},
	}
}

// toLast returns a figure about the time until the last of all watchers has received the event of a
// write.
func toLast(name, title string, figure func(*record.Times) measure.Figure) Figure {
	return Figure{
		Name: name, Column: strings.ReplaceAll(name, "-", "_") + "_ns", Title: title, Unit: measure.Nanoseconds, Direction: LowerIsBetter,
		Requires: watchers, MissingReason: "not every watcher watches every written key",
		Meaning: "time from when a write was due until all watchers had received its event; absent unless each watcher watches every written key",
		readValue: func(t *record.Trial) Value {
			if t.Watch == nil || t.Watch.ToLastWatcher == nil {
				return Value{Unit: measure.Nanoseconds}
			}
			return TimeValue(figure(t.Watch.ToLastWatcher))
		},
	}
}

// watchFigures returns the figures about watch events. Unless a figure mentions the window, it
// covers the whole load, including the warm-up.
func watchFigures() []Figure {
	all := []Figure{
		{Name: "watch-events", IntervalKey: "watch.events_per_second", AtEnd: true, Field: "watch.events_per_second", Title: "events", Unit: measure.Rate, Direction: HigherIsBetter,
			Meaning: "`events_in_window` / `seconds`"},
		{Name: "watch-acknowledged", Field: "watch.acknowledged_writes", Meaning: "acknowledged writes of watched keys"},
		{Name: "watch-expected", AtEnd: true, Field: "watch.expected_events", Meaning: "events that the acknowledged writes cause: one event for each watcher of the key. The earlier events that watchers must catch up with are included"},
		{Name: "watch-delivered", AtEnd: true, Field: "watch.delivered_events", Meaning: "distinct events that arrived", Direction: HigherIsBetter},
		{Name: "watch-lost", AtEnd: true, Field: "watch.lost_events", Title: "lost", Direction: LowerIsBetter,
			Meaning: "lost events. For each watcher and key, this is the larger of two numbers: versions of the key that the watcher's events skipped, and acknowledged writes without an event"},
		{Name: "watch-duplicated", IntervalKey: "watch.duplicated_events", AtEnd: true, Field: "watch.duplicated_events", Title: "twice", Direction: LowerIsBetter, Meaning: "events that the watcher had already received"},
		{Name: "watch-reordered", IntervalKey: "watch.reordered_events", AtEnd: true, Field: "watch.reordered_events", Title: "out of order", Direction: LowerIsBetter, Meaning: "events that arrived after a later event of their key"},
		{Name: "watch-coalesced", Field: "watch.coalesced_events", Meaning: "versions that a watcher with `mode: once` or `query` did not receive because a newer version existed when it read the key; these versions do not count as lost"},
		{Name: "watch-untimed", Field: "watch.untimed_events", Direction: LowerIsBetter, Meaning: "events for which the time when the write was sent is unknown"},
		{Name: "watch-foreign", Field: "watch.foreign_events", Direction: LowerIsBetter, Meaning: "untimed events caused by writes that this load did not send. If `watch.key` is set, writes that quorumbench sent before the load do not count"},
		{Name: "watch-wrong", Field: "watch.wrong_events", Direction: LowerIsBetter, Meaning: "events of keys that the watcher does not watch"},
		{Name: "watch-impossible", Field: "watch.impossible_events", Direction: LowerIsBetter, Meaning: "events that arrived before their write was sent"},
		{Name: "watch-resubscribed", Field: "watch.resubscribed", Direction: LowerIsBetter,
			Meaning: "number of times that a watcher lost its connection or stream and was re-created at its last position"},
		{Name: "watch-ended", Field: "watch.ended_watchers", Direction: LowerIsBetter, Meaning: "watchers that the store ended permanently"},
		{Name: "watch-in-window", IntervalKey: "watch.events", Field: "watch.events_in_window", Meaning: "distinct events of writes due in the window, including events that arrived after the window"},
		{Name: "watch-creation-seconds", Field: "watch.creation_seconds", Unit: measure.Seconds, Direction: LowerIsBetter,
			Meaning: "time from the request for the first watcher until the last watcher existed"},
	}
	for i := range all {
		f := &all[i]
		if f.Requires, f.MissingReason = watchers, "it has no record of its watchers"; f.Unit == 0 {
			f.Unit, f.Total = measure.Number, expected
		}
	}
	return append(all,
		toLast("watch-last-p50", "last p50", func(t *record.Times) measure.Figure { return t.Percentile(50) }),
		toLast("watch-last-p99", "last p99", func(t *record.Times) measure.Figure { return t.Percentile(99) }),
		toLast("watch-last-max", "last max", func(t *record.Times) measure.Figure { return t.Max }),
	)
}
