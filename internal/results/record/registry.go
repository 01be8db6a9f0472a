package record

import (
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Figures returns the registry: every figure of a trial, in the order of the trial's JSON
// object.
var Figures = sync.OnceValue(func() []Figure {
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
		if f.of == nil {
			f.of = recorded(f.Field)
		}
	}
	return all
})

// due and expected are the wholes that counts are parts of.
var (
	due      = &Whole{Of: func(t *Trial) uint64 { return t.Due }, None: "no operation was due"}
	expected = &Whole{Of: func(t *Trial) uint64 { return t.Watch.Expected }, None: "no event was expected"}
)

// operationFigures returns the figures about the operations due in the window and their
// outcomes.
func operationFigures() []Figure {
	all := []Figure{
		{Name: "warmup", Field: "warmup_seconds_run", Unit: measure.Seconds, Missing: "how long its warm-up was is not known",
			Meaning: "length of a closed loop's warm-up; `null` in an open loop"},
		{Name: "seconds", Field: "seconds", Unit: measure.Length, Meaning: "exact length of the measurement window"},
		{Name: "due", Line: "due", Field: "due", Meaning: "operations due in the window; always `operations` + `errors`"},
		{Name: "operations", Line: "operations", Field: "operations", Better: More,
			Meaning: "completed operations among those due. Misses, conflicts, stale reads and unverifiable reads are completed"},
		{Name: "errors", Line: "errors", Field: "errors", Title: "errors", Better: Less, Meaning: "failed operations among those due, wrong responses included"},
		{Name: "conflicts", Field: "conflicts", Title: "conflicts", Meaning: "compare-and-sets among `operations` whose condition did not hold"},
		{Name: "misses", Field: "misses", Meaning: "reads among `operations` of a key that does not exist"},
		{Name: "stale", Field: "stale", Better: Less,
			Meaning: "reads among `operations` that returned a value which quorumbench had written earlier, in this run or another"},
		{Name: "unverifiable", Field: "unverifiable",
			Meaning: "reads among `operations` of a value below 16 bytes, which carries no checksum"},
		{Name: "keys-read", Field: "keys_read", Unit: measure.Number, Missing: "it reads no keys",
			Meaning: "keys that get, exists, range and txn-get operations among `operations` read or counted; `null` without such operations"},
		{Name: "keys-per-op", Column: "keys_read_per_operation", Title: "keys/op", Unit: measure.Ratio, Requires: manyKeys, Missing: "no operation completed",
			Meaning: "`keys_read` / `operations`",
			of: ratio(func(t *Trial) (float64, uint64) {
				if t.KeysRead == nil || !manyKeys.Has(&t.Conditions) {
					return 0, 0
				}
				return float64(*t.KeysRead), t.Operations
			})},
		{Name: "wrong-answers", Field: "wrong_answers", Better: Less,
			Meaning: "wrong responses among `errors`: another key, a damaged value, a value that was replaced before a linearizable read began, or a range outside its interval, out of order or over its limit"},
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		kind := o.String()
		all = append(all, Figure{Name: "errors-" + strings.ReplaceAll(kind, "_", "-"), Column: "errors_" + kind, Better: Less, Meaning: "`errors` of the kind `" + kind + "`",
			of: func(t *Trial) Value { return Value{Number: float64(t.ErrorsByKind[kind]), Known: true} }})
	}
	for i := range all {
		if f := &all[i]; f.Unit == 0 {
			f.Unit, f.Whole = measure.Number, due
		}
	}
	return append(all, Figure{Name: "error-share", Column: "error_share", Unit: measure.Share, Better: Less, Whole: due, Missing: due.None,
		Meaning: "`errors` / `due`",
		of:      ratio(func(t *Trial) (float64, uint64) { return float64(t.Errors), t.Due })})
}

// ratio returns an accessor that divides a number by a count; the result is not known if
// the count is 0.
func ratio(of func(*Trial) (x float64, count uint64)) func(*Trial) Value {
	return func(t *Trial) Value {
		x, count := of(t)
		if count == 0 {
			return Value{}
		}
		return Value{Number: x / float64(count), Known: true}
	}
}

// rateFigures returns the figures about throughput.
func rateFigures() []Figure {
	return []Figure{
		{Name: "completed", Line: "completed", Field: "completed_in_window", Unit: measure.Number, Better: More,
			Meaning: "successes *done* in the window, whenever they were due"},
		{Name: "ops", Line: "operations_per_second", Field: "operations_per_second", Title: "throughput", Unit: measure.Rate, Better: More,
			Meaning: "`completed_in_window` / `seconds`"},
		{Name: "gap", Field: "longest_gap_seconds", Title: "gap", Unit: measure.Seconds, Better: Less, Below: 0.001,
			Meaning: "longest time without a completed operation, to 1 ms"},
		{Field: "longest_gap_at_seconds", Unit: measure.Seconds,
			Meaning: "start of that gap in seconds after the window opened; `null` for a gap below 1 ms"},
		{Field: "failed_from_percentile", Unit: measure.Number, Better: More,
			Meaning: "100 × `operations` / `due`: operations above this percentile failed; `null` if none failed"},
	}
}

// timeFigures returns the figures of the distributions.
func timeFigures() []Figure {
	var all []Figure
	for _, d := range distributions() {
		all = append(all, d.points()...)
		if d.Prefix == "lateness" {
			p99 := d.percentile("lateness", 99)
			p99.point = func(t Times) measure.Figure { return t.At(99) }
			all = append(all, p99)
		}
	}
	const none = "no operation was due"
	return append(all,
		Figure{Name: "slowest", Field: "slowest_ns", Unit: measure.Nanoseconds, Better: Less, Missing: none,
			Meaning: "longest time from due to the end of an operation, failed ones included; absent if no operation was due"},
		Figure{Name: "spread", Field: "spread_ns", Unit: measure.Nanoseconds, Better: Less, Missing: none,
			Meaning: "standard deviation of these times; absent if no operation was due"},
		Figure{Name: "rate-share", Column: "rate_share", Unit: measure.Share, Better: More, Missing: "nothing was due by a rate",
			Meaning: "open loop: throughput / `rate`",
			of: func(t *Trial) Value {
				if t.Rate == nil || *t.Rate <= 0 {
					return Value{}
				}
				return Value{Number: t.PerSecond / *t.Rate, Known: true}
			}})
}

// flightFigures returns the figures about operations in flight and fairness between
// clients.
func flightFigures() []Figure {
	return []Figure{
		{Name: "carried-in", Field: "carried_in", Unit: measure.Number, Whole: due,
			Meaning: "operations in flight when the window opened"},
		{Name: "carried-in-age", Field: "carried_in_age_ns", Unit: measure.Nanoseconds,
			Meaning: "age of the oldest operation in flight when the window opened"},
		{Name: "retries", Field: "retries", Unit: measure.Number, Better: Less, Requires: stmWrites, Missing: "nothing is recorded of its transactions",
			Meaning: "how often a conflict made a completed `stm` operation start again; only with `stm` operations"},
		{Name: "retries-per-op", Column: "retries_per_operation", Unit: measure.Ratio, Better: Less, Requires: stmWrites, Missing: "no transaction completed",
			Meaning: "`retries` / `operations`",
			of: ratio(func(t *Trial) (float64, uint64) {
				if t.Retries == nil {
					return 0, 0
				}
				return float64(*t.Retries), t.Operations
			})},
		{Name: "max-in-flight", Field: "max_in_flight", Unit: measure.Number,
			Meaning: "highest number of operations between due and done"},
		{Name: "in-flight", Field: "mean_in_flight", Unit: measure.Number,
			Meaning: "mean number of operations between due and done over time"},
		{Name: "capped", Field: "in_flight_capped", Unit: measure.Number, Better: Less,
			Meaning: "operations that the limit on operations in flight held back"},
		{Name: "waited-for-connection", Field: "waited_for_connection", Unit: measure.Number, Better: Less,
			Meaning: "open loop: operations that found every connection occupied (an HTTP/1.1 connection takes one operation at a time)"},
		{Name: "connection-wait", Field: "connection_wait_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "closed loop: mean time that an operation waited while other clients' operations occupied its connection. Above 3 % of the mean response time, the trial's headline is the response time"},
		{Name: "resting-clients", Field: "mean_resting_clients", Unit: measure.Number,
			Meaning: "closed loop: mean number of clients, over time, that paused after a refusal"},
		{Name: "fairness", Field: "by_client.fairness", Column: "fairness", Unit: measure.Ratio, Better: More, Requires: closedLoop, Missing: "nothing is recorded of its clients",
			Meaning: "closed loop: Jain's index of the operations that each client completed among those due in the window: 1 if all clients completed the same number, k/n if k of n clients completed everything",
			of: func(t *Trial) Value {
				if t.ByClient == nil || t.ByClient.Fairness == nil {
					return Value{}
				}
				return Value{Number: *t.ByClient.Fairness, Known: true}
			}},
	}
}

// connectionFigures returns the figures about connections, members and workers.
func connectionFigures() []Figure {
	const alone = "one worker generated the load"
	return []Figure{
		{Name: "reconnects", Field: "reconnects", Unit: measure.Number, Better: Less, Whole: due,
			Meaning: "how often a connection was re-established"},
		{Name: "sessions-expired", Field: "sessions_expired", Unit: measure.Number, Better: Less, Whole: due,
			Meaning: "sessions that had expired at the server, with their keys, when a new connection tried to resume them"},
		{Name: "bytes-in", Line: "bytes_in", Field: "bytes_in", Unit: measure.Bytes,
			Meaning: "bytes received on all connections"},
		{Name: "bytes-out", Line: "bytes_out", Field: "bytes_out", Unit: measure.Bytes,
			Meaning: "bytes sent on all connections"},
		{Name: "extra-requests", Field: "extra_requests", Unit: measure.Number, Whole: due,
			Meaning: "requests of completed operations beyond one per operation"},
		{Name: "late-answers", Field: "late_answers", Title: "late answers", Line: "late_answers", Unit: measure.Number, Better: Less, Whole: due,
			Meaning: "responses that arrived in the window after their operation had timed out: the operation was slow, not lost. A store that responds in order, such as ZooKeeper, sends them; no response arrives for a cancelled request or on a replaced connection"},
		{Name: "lost-members", Unit: measure.Number, Better: Less, Whole: due, Column: "lost_members", Meaning: "members that were lost during the trial; `lost_members` names them",
			of: func(t *Trial) Value { return Value{Number: float64(len(t.LostMembers)), Known: true} }},
		{Name: "term-changes", Field: "term_changes", Unit: measure.Number, Whole: due,
			Meaning: "leader changes in the window, by their times in events.jsonl", of: func(t *Trial) Value { return Value{Number: float64(max(t.TermChanges, 0)), Known: true} }},
		{Name: "held-clients", Field: "held_clients", Unit: measure.Number, Better: Less,
			Meaning: "clients of a closed loop that still waited for an operation at a member after the load had moved to another member; 0 in an open loop"},
		{Name: "held-longest", Field: "held_longest_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "longest such wait, counted from the move"},
		{Name: "start-spread", Field: "start_spread_ns", Unit: measure.Nanoseconds, Better: Less, Missing: alone,
			Meaning: "several workers: time within which half of the workers opened their window after the first worker, by their own clocks, corrected to within `clock_bound_ns`. This figure and the next two are absent with one worker"},
		{Name: "start-latest", Field: "start_latest_ns", Unit: measure.Nanoseconds, Better: Less, Missing: alone,
			Meaning: "how long after the first worker the last worker opened its window; `by_worker` names it"},
		{Name: "merged-after", Field: "merged_after_ns", Unit: measure.Nanoseconds, Better: Less, Missing: alone,
			Meaning: "time from the end of the window until the results of all workers were merged; it includes the wait for operations in flight"},
	}
}

// costFigures returns the figures about the resource use of the generator and the members.
func costFigures() []Figure {
	const uncounted = "the members' disk writes are unknown: this run did not start the members, their file system is in memory, the system reports no writes, or nothing was written"
	const idle, unseen, unwritten = "no operation completed", "the resource use of the members' processes is unknown", "the written bytes are not recorded"
	return []Figure{
		{Name: "cpu", Field: "client_cpu_seconds", Unit: measure.Seconds, Better: Less,
			Meaning: "CPU time of the load generator, user and system"},
		{Name: "cpu-per-op", Field: "client_cpu_ns_per_operation", Title: "gen CPU/op", Unit: measure.Nanoseconds, Better: Less, Missing: idle,
			Meaning: "`client_cpu_seconds` / `completed_in_window`"},
		{Name: "rss", Field: "client_max_rss_bytes", Unit: measure.Bytes, Better: Less,
			Meaning: "peak resident memory of the load generator"},
		{Name: "sampling-cpu", Field: "sampling_cpu_seconds", Unit: measure.Seconds, Better: Less, Missing: "what sampling took is not known",
			Meaning: "CPU time of sampling processes and machines for machines.csv, summed over all machines; `client_cpu_seconds` includes the part on the generator's machine. Absent where the system does not report it"},
		{Name: "sampling-share", Column: "sampling_cpu_share", Unit: measure.Share, Better: Less, Missing: "what sampling took is not known",
			Meaning: "`sampling_cpu_seconds` / `seconds`: CPUs that sampling occupied on average",
			of: func(t *Trial) Value {
				if t.SamplingCPUSeconds == nil || t.Seconds <= 0 {
					return Value{}
				}
				return Value{Number: *t.SamplingCPUSeconds / t.Seconds, Known: true}
			}},
		{Name: "store-cpu", Members: true, Field: "store_cpu_seconds", Unit: measure.Seconds, Better: Less, Missing: unseen,
			Meaning: "CPU time, user and system, of all processes of the members (a proxy and its store, too); `null` where this run did not start the members or the system does not report it"},
		{Name: "store-cpu-per-op", Members: true, Field: "store_cpu_ns_per_operation", Title: "store CPU/op", Unit: measure.Nanoseconds, Better: Less, Missing: unseen,
			Meaning: "`store_cpu_seconds` / `completed_in_window`"},
		{Name: "store-rss", Members: true, Field: "store_max_rss_bytes", Title: "store RSS", Unit: measure.Bytes, Better: Less, Missing: unseen,
			Meaning: "sum of the peak resident memory of all processes of the members"},
		{Name: "keys-written", Field: "keys_written", Unit: measure.Number, Requires: writes, Missing: unwritten,
			Meaning: "keys that successes done in the window wrote or removed; every write of a key counts. This figure and the next seven are absent where the load writes nothing or the number is not known"},
		{Name: "user-written", Field: "user_bytes_written", Unit: measure.Bytes, Requires: writes, Missing: unwritten,
			Meaning: "bytes of those keys, prefixes included, and of their values"},
		{Name: "store-written", Members: true, Field: "store_written_bytes", Unit: measure.Bytes, Better: Less, Requires: writes, Missing: uncounted,
			Meaning: "bytes that the processes of all members wrote to disk in the window, in whole pages, the members' own bookkeeping included; absent where this run did not start the members, on a file system in memory, or where the system does not report it"},
		{Name: "write-amplification", Members: true, Field: "write_amplification", Title: "disk/user", Unit: measure.Ratio, Better: Less, Requires: writes, Missing: uncounted, Wide: true,
			Meaning: "`store_written_bytes` / `user_bytes_written`: 3 if each of three members writes everything once"},
		{Name: "database-growth", Members: true, Field: "store_database_growth_bytes", Unit: measure.Bytes, Requires: writes, Missing: "the size of the members' databases is not known",
			Meaning: "growth of the members' databases on disk from the opening to the close of the window, summed, as the members report their sizes; negative if they shrank"},
		{Name: "disk-per-key", Members: true, Field: "store_database_bytes_per_key", Title: "disk/key", Unit: measure.Bytes, Better: Less, Requires: writes, Missing: "the members' databases did not grow, or their size is not known", Wide: true,
			Meaning: "`store_database_growth_bytes` / `keys_written`; absent if the databases did not grow. A database grows in steps (etcd's by up to 16 MiB), so a short window gives a coarse value"},
		{Name: "rss-growth", Members: true, Field: "store_rss_growth_bytes", Unit: measure.Bytes, Requires: writes, Missing: unseen,
			Meaning: "growth of the members' resident memory from the opening to the close of the window, summed; negative if it shrank"},
		{Name: "rss-per-key", Members: true, Field: "store_rss_bytes_per_key", Title: "RSS/key", Unit: measure.Bytes, Better: Less, Requires: writes, Missing: "the members' memory did not grow, or is not known", Wide: true,
			Meaning: "`store_rss_growth_bytes` / `keys_written`; absent if the memory did not grow. It includes memory that a runtime has freed and keeps, so only a long load of new keys shows the memory per key"},
	}
}

// disturbanceFigures returns the figures about what kept the generator from its work.
func disturbanceFigures() []Figure {
	const unknown = "the system does not say"
	return []Figure{
		{Name: "loop-cpu", Field: "loop_cpu_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "CPU time of the event loops' threads"},
		{Name: "longest-pause", Field: "longest_pause_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "longest time that an event loop was late for its own wake-up or held up by one turn"},
		{Name: "run-delay", Field: "run_delay_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "run queue wait of the event loops' threads; 0 where the system does not report it"},
		{Name: "run-slices", Field: "run_slices", Unit: measure.Number,
			Meaning: "how often those threads got a CPU; 0 where the system does not report it"},
		{Name: "paused", Field: "paused_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "total time that the event loops were late for their own wake-ups, or held up by one turn beyond its work"},
		{Name: "throttled", Field: "throttled_ns", Unit: measure.Nanoseconds, Better: Less, Missing: unknown,
			Meaning: "time that CPU limits held back the generator's control group (rule R6)"},
		{Name: "stolen", Field: "stolen_cpu_share", Unit: measure.Share, Better: Less, Missing: unknown,
			Meaning: "CPU steal: share of the machine's CPU time that its host withheld (rule R10)"},
		{Name: "busy", Field: "busy_cpu_share", Unit: measure.Share, Missing: unknown,
			Meaning: "share of the machine's CPU time that was used"},
		{Name: "foreign", Field: "foreign_cpu_share", Unit: measure.Share, Better: Less, Missing: unknown,
			Meaning: "share of the machine's CPU time that programs other than the generator and the members used (rule R23); `null` unless quorumbench started all members on this machine or found the processes that listen at their endpoints"},
	}
}

// toLast returns a figure of the time until the last of all watchers has received a write.
func toLast(name, title string, of func(*Times) measure.Figure) Figure {
	return Figure{
		Name: name, Column: strings.ReplaceAll(name, "-", "_") + "_ns", Title: title, Unit: measure.Nanoseconds, Better: Less,
		Requires: watchers, Missing: "not all of its watchers watch all that is written",
		Meaning: "time from when a write was due until the last watcher had its event; only where each watcher watches every written key",
		of: func(t *Trial) Value {
			if t.Watch == nil || t.Watch.ToLast == nil {
				return Value{Unit: measure.Nanoseconds}
			}
			return TimeValue(of(t.Watch.ToLast))
		},
	}
}

// watchFigures returns the figures about watch events, of the whole load including its
// warm-up.
func watchFigures() []Figure {
	all := []Figure{
		{Name: "watch-events", Line: "watch.events_per_second", AtEnd: true, Field: "watch.events_per_second", Title: "events", Unit: measure.Rate, Better: More,
			Meaning: "`events_of_window` / `seconds`"},
		{Name: "watch-acknowledged", Field: "watch.acknowledged_writes", Meaning: "acknowledged writes of watched keys"},
		{Name: "watch-expected", AtEnd: true, Field: "watch.expected_events", Meaning: "events that those writes cause: one for each watcher of the key, and the earlier events to catch up with"},
		{Name: "watch-delivered", AtEnd: true, Field: "watch.delivered_events", Meaning: "distinct events that arrived", Better: More},
		{Name: "watch-lost", AtEnd: true, Field: "watch.lost_events", Title: "lost", Better: Less,
			Meaning: "versions of a key that were skipped, or acknowledged writes without an event, whichever is more for a watcher and key"},
		{Name: "watch-duplicated", Line: "watch.duplicated_events", AtEnd: true, Field: "watch.duplicated_events", Title: "twice", Better: Less, Meaning: "events that had arrived before"},
		{Name: "watch-reordered", Line: "watch.reordered_events", AtEnd: true, Field: "watch.reordered_events", Title: "out of order", Better: Less, Meaning: "events that arrived after a later event of their key"},
		{Name: "watch-coalesced", Field: "watch.coalesced_events", Meaning: "versions that watchers with `mode: once` or `query` did not see because a newer version existed when they read; these events are not lost"},
		{Name: "watch-untimed", Field: "watch.untimed_events", Better: Less, Meaning: "events that arrived and for which the sending time of the write is not known"},
		{Name: "watch-foreign", Field: "watch.foreign_events", Better: Less, Meaning: "untimed events of writes that this load did not send (with `key`: nor before the load)"},
		{Name: "watch-wrong", Field: "watch.wrong_events", Better: Less, Meaning: "events of keys that the watcher does not watch"},
		{Name: "watch-impossible", Field: "watch.impossible_events", Better: Less, Meaning: "events that arrived before their write was sent"},
		{Name: "watch-resubscribed", Field: "watch.resubscribed", Better: Less,
			Meaning: "how often a watcher was re-created at its position after its connection or stream was lost"},
		{Name: "watch-ended", Field: "watch.ended_watchers", Better: Less, Meaning: "watchers that the store ended permanently"},
		{Name: "watch-in-window", Line: "watch.events", Field: "watch.events_of_window", Meaning: "distinct events of writes due in the window, whenever they arrived"},
		{Name: "watch-creation-seconds", Field: "watch.creation_seconds", Unit: measure.Seconds, Better: Less,
			Meaning: "time from the request for the first watcher until the last watcher existed"},
	}
	for i := range all {
		f := &all[i]
		if f.Requires, f.Missing = watchers, "nothing is recorded of its watchers"; f.Unit == 0 {
			f.Unit, f.Whole = measure.Number, expected
		}
	}
	return append(all,
		toLast("watch-last-p50", "last p50", func(t *Times) measure.Figure { return t.At(50) }),
		toLast("watch-last-p99", "last p99", func(t *Times) measure.Figure { return t.At(99) }),
		toLast("watch-last-max", "last max", func(t *Times) measure.Figure { return t.Max }),
	)
}
