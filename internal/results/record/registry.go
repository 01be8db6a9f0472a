package record

import (
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Figures is the registry: every figure of a trial, in the order of the trial's
// JSON object.
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

// due and expected are what counts are parts of.
var (
	due      = &Whole{Of: func(t *Trial) uint64 { return t.Due }, None: "no operation was due"}
	expected = &Whole{Of: func(t *Trial) uint64 { return t.Watch.Expected }, None: "no event was expected"}
)

// operationFigures are the operations due in the window and how they ended.
func operationFigures() []Figure {
	all := []Figure{
		{Name: "warmup", Field: "warmup_seconds_run", Unit: measure.Seconds, Missing: "how long its warm-up was is not known",
			Meaning: "how long a closed loop's warm-up was; `null` in an open loop"},
		{Name: "seconds", Field: "seconds", Unit: measure.Length, Meaning: "the window's true length"},
		{Name: "due", Line: "due", Field: "due", Meaning: "operations due in the window. Always `operations` + `errors`"},
		{Name: "operations", Line: "operations", Field: "operations", Better: More,
			Meaning: "of those due: completed. Misses, conflicts, stale and unverifiable reads are completions"},
		{Name: "errors", Line: "errors", Field: "errors", Title: "errors", Better: Less, Meaning: "of those due: failed, wrong answers among them"},
		{Name: "conflicts", Field: "conflicts", Title: "conflicts", Meaning: "of `operations`: compare-and-sets whose condition did not hold"},
		{Name: "misses", Field: "misses", Meaning: "of `operations`: reads of a key that is not there"},
		{Name: "stale", Field: "stale", Better: Less,
			Meaning: "of `operations`: reads that returned a value which quorumbench wrote earlier, in this run or another"},
		{Name: "unverifiable", Field: "unverifiable",
			Meaning: "of `operations`: reads of a value below 16 bytes, which carries no checksum"},
		{Name: "keys-read", Field: "keys_read", Unit: measure.Number, Missing: "it reads no keys",
			Meaning: "keys that gets, exists, ranges and txn-gets of `operations` read, or counted; `null` without any"},
		{Name: "keys-per-op", Column: "keys_read_per_operation", Title: "keys/op", Unit: measure.Ratio, Requires: manyKeys, Missing: "no operation completed",
			of: ratio(func(t *Trial) (float64, uint64) {
				if t.KeysRead == nil || !manyKeys.Has(&t.Conditions) {
					return 0, 0
				}
				return float64(*t.KeysRead), t.Operations
			})},
		{Name: "wrong-answers", Field: "wrong_answers", Better: Less,
			Meaning: "of `errors`: another key, a damaged value, one that was replaced before a linearizable read began, a range outside of its interval, out of order or over its limit"},
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		kind := o.String()
		all = append(all, Figure{Name: "errors-" + strings.ReplaceAll(kind, "_", "-"), Column: "errors_" + kind, Better: Less,
			of: func(t *Trial) Value { return Value{Number: float64(t.ErrorsByKind[kind]), Known: true} }})
	}
	for i := range all {
		if f := &all[i]; f.Unit == 0 {
			f.Unit, f.Whole = measure.Number, due
		}
	}
	return append(all, Figure{Name: "error-share", Column: "error_share", Unit: measure.Share, Better: Less, Whole: due, Missing: due.None,
		of: ratio(func(t *Trial) (float64, uint64) { return float64(t.Errors), t.Due })})
}

// ratio is one number to a count of what it is of; not known without any.
func ratio(of func(*Trial) (x float64, count uint64)) func(*Trial) Value {
	return func(t *Trial) Value {
		x, count := of(t)
		if count == 0 {
			return Value{}
		}
		return Value{Number: x / float64(count), Known: true}
	}
}

// rateFigures are what was done a second.
func rateFigures() []Figure {
	return []Figure{
		{Name: "completed", Line: "completed", Field: "completed_in_window", Unit: measure.Number, Better: More,
			Meaning: "successes *done* in the window, whenever they were due"},
		{Name: "ops", Line: "operations_per_second", Field: "operations_per_second", Title: "throughput", Unit: measure.Rate, Better: More,
			Meaning: "`completed_in_window` / `seconds`"},
		{Name: "gap", Field: "longest_gap_seconds", Title: "gap", Unit: measure.Seconds, Better: Less, Below: 0.001,
			Meaning: "the longest time without any operation done, to 1 ms"},
		{Field: "longest_gap_at_seconds", Unit: measure.Seconds,
			Meaning: "when that began, counted from the window's opening; `null` if it is below 1 ms"},
		{Field: "failed_from_percentile", Unit: measure.Number, Better: More,
			Meaning: "100 × `operations` / `due`: above it operations had failed; `null` if none had"},
	}
}

// timeFigures are those of the distributions.
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
			Meaning: "of all operations due, failed ones included, from when one was due until it ended: the slowest. Absent where none was due"},
		Figure{Name: "spread", Field: "spread_ns", Unit: measure.Nanoseconds, Better: Less, Missing: none,
			Meaning: "the standard deviation of the same; absent likewise"},
		Figure{Name: "rate-share", Column: "rate_share", Unit: measure.Share, Better: More, Missing: "nothing was due by a rate",
			of: func(t *Trial) Value {
				if t.Rate == nil || *t.Rate <= 0 {
					return Value{}
				}
				return Value{Number: t.PerSecond / *t.Rate, Known: true}
			}})
}

// flightFigures are what was under way, and how clients were served.
func flightFigures() []Figure {
	return []Figure{
		{Name: "carried-in", Field: "carried_in", Unit: measure.Number, Whole: due,
			Meaning: "operations in flight when the window opened"},
		{Name: "carried-in-age", Field: "carried_in_age_ns", Unit: measure.Nanoseconds,
			Meaning: "the age of the oldest of those then"},
		{Name: "retries", Field: "retries", Unit: measure.Number, Better: Less, Requires: stmWrites, Missing: "nothing is recorded of its transactions",
			Meaning: "only with `stm` operations: how often a conflict made those that completed begin again"},
		{Name: "retries-per-op", Column: "retries_per_operation", Unit: measure.Ratio, Better: Less, Requires: stmWrites, Missing: "no transaction completed",
			of: ratio(func(t *Trial) (float64, uint64) {
				if t.Retries == nil {
					return 0, 0
				}
				return float64(*t.Retries), t.Operations
			})},
		{Name: "max-in-flight", Field: "max_in_flight", Unit: measure.Number,
			Meaning: "operations between due and done: the most"},
		{Name: "in-flight", Field: "mean_in_flight", Unit: measure.Number,
			Meaning: "operations between due and done: the mean over time"},
		{Name: "capped", Field: "in_flight_capped", Unit: measure.Number, Better: Less,
			Meaning: "how many operations the limit held back"},
		{Name: "waited-for-connection", Field: "waited_for_connection", Unit: measure.Number, Better: Less,
			Meaning: "open loop: how many operations found every connection occupied (HTTP/1.1: each takes one at a time)"},
		{Name: "connection-wait", Field: "connection_wait_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "closed loop: for how long an operation waited on average until its connection, which other clients' operations occupied, took it. Beyond 3 % of the mean response time the trial's headline is the response time"},
		{Name: "resting-clients", Field: "mean_resting_clients", Unit: measure.Number,
			Meaning: "closed loop: the time-weighted mean of clients that rested after a refusal"},
		{Name: "fairness", Field: "by_client.fairness", Column: "fairness", Unit: measure.Ratio, Better: More, Requires: closedLoop, Missing: "nothing is recorded of its clients",
			Meaning: "Jain's index of the operations that each client completed, of those due in the window: 1 where all did as many, k/n where k of n clients did all. Not of an open loop, where the schedule says whose turn it is",
			of: func(t *Trial) Value {
				if t.ByClient == nil || t.ByClient.Fairness == nil {
					return Value{}
				}
				return Value{Number: *t.ByClient.Fairness, Known: true}
			}},
	}
}

// connectionFigures are what happened to connections, members and workers.
func connectionFigures() []Figure {
	const alone = "one worker generated the load"
	return []Figure{
		{Name: "reconnects", Field: "reconnects", Unit: measure.Number, Better: Less, Whole: due,
			Meaning: "how often a connection was made again"},
		{Name: "sessions-expired", Field: "sessions_expired", Unit: measure.Number, Better: Less, Whole: due,
			Meaning: "sessions that had ended at the server before a new connection took them up again, with what they owned"},
		{Name: "bytes-in", Line: "bytes_in", Field: "bytes_in", Unit: measure.Bytes,
			Meaning: "that all connections brought"},
		{Name: "bytes-out", Line: "bytes_out", Field: "bytes_out", Unit: measure.Bytes,
			Meaning: "that were written to them"},
		{Name: "extra-requests", Field: "extra_requests", Unit: measure.Number, Whole: due,
			Meaning: "requests beyond one an operation, of operations that completed"},
		{Name: "late-answers", Field: "late_answers", Title: "late answers", Line: "late_answers", Unit: measure.Number, Better: Less, Whole: due,
			Meaning: "answers that came in the window after their operation had timed out: those were slow, and not lost. A store that answers in order, as ZooKeeper does, sends them; where a request can be cancelled, or its connection is replaced, none comes"},
		{Name: "lost-members", Unit: measure.Number, Better: Less, Whole: due, Column: "lost_members",
			of: func(t *Trial) Value { return Value{Number: float64(len(t.LostMembers)), Known: true} }},
		{Name: "term-changes", Field: "term_changes", Unit: measure.Number, Whole: due,
			Meaning: "elections in the window, by their times in events.jsonl", of: func(t *Trial) Value { return Value{Number: float64(max(t.TermChanges, 0)), Known: true} }},
		{Name: "held-clients", Field: "held_clients", Unit: measure.Number, Better: Less,
			Meaning: "clients of a closed loop that waited for an operation at a member from which the load had moved away; 0 in an open loop"},
		{Name: "held-longest", Field: "held_longest_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "the longest that one of those waited from the move on"},
		{Name: "start-spread", Field: "start_spread_ns", Unit: measure.Nanoseconds, Better: Less, Missing: alone,
			Meaning: "several workers: half of them came to the window within so much of the first, by their own clocks, which are corrected to within `clock_bound_ns`. This and the two below are absent where there was one worker"},
		{Name: "start-latest", Field: "start_latest_ns", Unit: measure.Nanoseconds, Better: Less, Missing: alone,
			Meaning: "how much later than the first the last worker came to it; `by_worker` names it"},
		{Name: "merged-after", Field: "merged_after_ns", Unit: measure.Nanoseconds, Better: Less, Missing: alone,
			Meaning: "how long after the window's end what all workers told was one result; what was in flight was awaited in that time, too"},
	}
}

// costFigures are what the generator and the members' processes used.
func costFigures() []Figure {
	const uncounted = "what the members wrote to disks is not known: this run did not start them, their file system is in memory, the system does not say, or nothing was written"
	const idle, unseen, unwritten = "no operation completed", "what the members' processes used is not known", "what it wrote is not recorded"
	return []Figure{
		{Name: "cpu", Field: "client_cpu_seconds", Unit: measure.Seconds, Better: Less,
			Meaning: "the generator's processor time, user and system"},
		{Name: "cpu-per-op", Field: "client_cpu_ns_per_operation", Title: "gen CPU/op", Unit: measure.Nanoseconds, Better: Less, Missing: idle,
			Meaning: "that divided by `completed_in_window`"},
		{Name: "rss", Field: "client_max_rss_bytes", Unit: measure.Bytes, Better: Less,
			Meaning: "the generator's most resident memory"},
		{Name: "sampling-cpu", Field: "sampling_cpu_seconds", Unit: measure.Seconds, Better: Less, Missing: "what sampling took is not known",
			Meaning: "the processor time that it took to sample processes and machines for machines.csv, on all machines together; its part on the generator's machine is within `client_cpu_seconds`. Absent where the system does not say"},
		{Name: "sampling-share", Column: "sampling_cpu_share", Unit: measure.Share, Better: Less, Missing: "what sampling took is not known",
			of: func(t *Trial) Value {
				if t.SamplingCPUSeconds == nil || t.Seconds <= 0 {
					return Value{}
				}
				return Value{Number: *t.SamplingCPUSeconds / t.Seconds, Known: true}
			}},
		{Name: "store-cpu", Members: true, Field: "store_cpu_seconds", Unit: measure.Seconds, Better: Less, Missing: unseen,
			Meaning: "the processor time, user and system, of all processes of the members (a proxy and the store behind it, too); `null` where they were not started by this run, or the system does not say"},
		{Name: "store-cpu-per-op", Members: true, Field: "store_cpu_ns_per_operation", Title: "store CPU/op", Unit: measure.Nanoseconds, Better: Less, Missing: unseen,
			Meaning: "that divided by `completed_in_window`"},
		{Name: "store-rss", Members: true, Field: "store_max_rss_bytes", Title: "store RSS", Unit: measure.Bytes, Better: Less, Missing: unseen,
			Meaning: "the sum of each process's most resident memory"},
		{Name: "keys-written", Field: "keys_written", Unit: measure.Number, Requires: writes, Missing: unwritten,
			Meaning: "keys that the successes done in the window wrote, or removed; one that is written again counts again. This and the seven below are absent where nothing is written or it is not known"},
		{Name: "user-written", Field: "user_bytes_written", Unit: measure.Bytes, Requires: writes, Missing: unwritten,
			Meaning: "the bytes of those keys, with their prefix, and of their values"},
		{Name: "store-written", Members: true, Field: "store_written_bytes", Unit: measure.Bytes, Better: Less, Requires: writes, Missing: uncounted,
			Meaning: "what the processes of all members had the system write to disks in the window, whole pages, what they keep for themselves included; absent where members were not started by this run, on a file system in memory, or where the system does not say"},
		{Name: "write-amplification", Members: true, Field: "write_amplification", Title: "disk/user", Unit: measure.Ratio, Better: Less, Requires: writes, Missing: uncounted, Wide: true,
			Meaning: "`store_written_bytes` / `user_bytes_written`: of three members that each write everything once it is 3"},
		{Name: "database-growth", Members: true, Field: "store_database_growth_bytes", Unit: measure.Bytes, Requires: writes, Missing: "the size of the members' databases is not known",
			Meaning: "by how much the members' databases together, as they state them, were larger on disk at the window's close than at its opening; below 0 where they shrank"},
		{Name: "disk-per-key", Members: true, Field: "store_database_bytes_per_key", Title: "disk/key", Unit: measure.Bytes, Better: Less, Requires: writes, Missing: "the members' databases did not grow, or their size is not known", Wide: true,
			Meaning: "that divided by `keys_written`; absent where they did not grow. A database grows by steps (etcd's by up to 16 MiB), so that short windows show it coarsely"},
		{Name: "rss-growth", Members: true, Field: "store_rss_growth_bytes", Unit: measure.Bytes, Requires: writes, Missing: unseen,
			Meaning: "by how much the members' resident memory together was larger at the close than at the opening; below 0 where it shrank"},
		{Name: "rss-per-key", Members: true, Field: "store_rss_bytes_per_key", Title: "RSS/key", Unit: measure.Bytes, Better: Less, Requires: writes, Missing: "the members' memory did not grow, or is not known", Wide: true,
			Meaning: "that divided by `keys_written`; absent where it did not grow. Memory that a runtime has collected and keeps is in it: only long loads of new keys show what keys take"},
	}
}

// disturbanceFigures are what kept the generator from its work.
func disturbanceFigures() []Figure {
	const unknown = "the system does not say"
	return []Figure{
		{Name: "loop-cpu", Field: "loop_cpu_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "of the event loops' threads alone"},
		{Name: "longest-pause", Field: "longest_pause_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "the longest time that a loop was late for its own wake-up or held by one turn"},
		{Name: "run-delay", Field: "run_delay_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "how long the loops' threads waited for a processor; 0 where the system does not say"},
		{Name: "run-slices", Field: "run_slices", Unit: measure.Number,
			Meaning: "in how many turns they got one; 0 likewise"},
		{Name: "paused", Field: "paused_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "how long the loops were late for their own wake-ups, or held by one turn beyond its work, all together"},
		{Name: "throttled", Field: "throttled_ns", Unit: measure.Nanoseconds, Better: Less, Missing: unknown,
			Meaning: "how long the generator's control group was held back: see rule R6"},
		{Name: "stolen", Field: "stolen_cpu_share", Unit: measure.Share, Better: Less, Missing: unknown,
			Meaning: "the share of the processor time that the machine's host took: see rule R10"},
		{Name: "busy", Field: "busy_cpu_share", Unit: measure.Share, Missing: unknown,
			Meaning: "the share of the machine's processor time that anything used"},
		{Name: "foreign", Field: "foreign_cpu_share", Unit: measure.Share, Better: Less, Missing: unknown,
			Meaning: "the share that other programs than the generator and the members used (R23); `null` unless quorumbench started all members on this machine, or found the processes that listen at their endpoints"},
	}
}

// toLast is a figure of the time until the last of all watchers has a write.
func toLast(name, title string, of func(*Times) measure.Figure) Figure {
	return Figure{
		Name: name, Column: strings.ReplaceAll(name, "-", "_") + "_ns", Title: title, Unit: measure.Nanoseconds, Better: Less,
		Requires: watchers, Missing: "not all of its watchers watch all that is written",
		Meaning: "from when a write was due until the last of all watchers had its event, where each watches all keys that are written",
		of: func(t *Trial) Value {
			if t.Watch == nil || t.Watch.ToLast == nil {
				return Value{Unit: measure.Nanoseconds}
			}
			return TimeValue(of(t.Watch.ToLast))
		},
	}
}

// watchFigures are what watchers got, of the whole load, its warm-up included.
func watchFigures() []Figure {
	all := []Figure{
		{Name: "watch-events", Line: "watch.events_per_second", AtEnd: true, Field: "watch.events_per_second", Title: "events", Unit: measure.Rate, Better: More,
			Meaning: "`events_of_window` / `seconds`"},
		{Name: "watch-acknowledged", Field: "watch.acknowledged_writes", Meaning: "of watched keys"},
		{Name: "watch-expected", AtEnd: true, Field: "watch.expected_events", Meaning: "that those make: one for each watcher of the key, and the earlier ones to catch up with"},
		{Name: "watch-delivered", AtEnd: true, Field: "watch.delivered_events", Meaning: "distinct ones", Better: More},
		{Name: "watch-lost", AtEnd: true, Field: "watch.lost_events", Title: "lost", Better: Less,
			Meaning: "versions of a key that were passed over, or acknowledged writes without an event, whichever is more for a watcher and key"},
		{Name: "watch-duplicated", Line: "watch.duplicated_events", AtEnd: true, Field: "watch.duplicated_events", Title: "twice", Better: Less, Meaning: "that had come before"},
		{Name: "watch-reordered", Line: "watch.reordered_events", AtEnd: true, Field: "watch.reordered_events", Title: "out of order", Better: Less, Meaning: "that came after a later one of their key"},
		{Name: "watch-coalesced", Field: "watch.coalesced_events", Meaning: "versions that watchers of `mode: once` or `query` were not told of, because a newer one was there when they read: none of them is lost"},
		{Name: "watch-untimed", Field: "watch.untimed_events", Better: Less, Meaning: "delivered, and when their write was sent is not known"},
		{Name: "watch-foreign", Field: "watch.foreign_events", Better: Less, Meaning: "of those, not written by this load (or, with `key`, before it)"},
		{Name: "watch-wrong", Field: "watch.wrong_events", Better: Less, Meaning: "of keys that the watcher does not watch"},
		{Name: "watch-impossible", Field: "watch.impossible_events", Better: Less, Meaning: "that arrived before their write was sent"},
		{Name: "watch-resubscribed", Field: "watch.resubscribed", Better: Less,
			Meaning: "how often a watcher was created again, from where it was, after its connection or stream was lost"},
		{Name: "watch-ended", Field: "watch.ended_watchers", Better: Less, Meaning: "that the store ended for good"},
		{Name: "watch-in-window", Line: "watch.events", Field: "watch.events_of_window", Meaning: "distinct events of writes due in the window, whenever they came"},
		{Name: "watch-creation-seconds", Field: "watch.creation_seconds", Unit: measure.Seconds, Better: Less,
			Meaning: "from when the first watcher was asked for until the last was there"},
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
