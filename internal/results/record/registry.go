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
	for _, part := range [][]Figure{operationFigures(), rateFigures(), timeFigures(), flightFigures(), costFigures(), disturbanceFigures(), watchFigures()} {
		all = append(all, part...)
	}
	for i := range all {
		f := &all[i]
		if f.Times == nil && f.Column == "" {
			f.Column = strings.ReplaceAll(f.Field, ".", "_")
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
	part := func(f Figure, of func(*Trial) uint64) Figure {
		f.Unit, f.Whole, f.of = measure.Number, due, number(of)
		return f
	}
	all := []Figure{
		{Name: "warmup", Field: "warmup_seconds_run", Unit: measure.Seconds, Missing: "how long its warm-up was is not known",
			Meaning: "how long a closed loop's warm-up was; `null` in an open loop, and in records of older versions",
			of:      maybe(func(t *Trial) *float64 { return t.WarmupRun })},
		{Name: "seconds", Field: "seconds", Unit: measure.Length, Meaning: "the window's true length",
			of: number(func(t *Trial) float64 { return t.Seconds })},
		part(Figure{Name: "due", Line: "due", Field: "due", Meaning: "operations due in the window. Always `operations` + `errors`"},
			func(t *Trial) uint64 { return t.Due }),
		part(Figure{Name: "operations", Line: "operations", Field: "operations", Better: More,
			Meaning: "of those due: completed. Misses, conflicts, stale and unverifiable reads are completions"},
			func(t *Trial) uint64 { return t.Operations }),
		part(Figure{Name: "errors", Line: "errors", Field: "errors", Title: "errors", Better: Less, Meaning: "of those due: failed, wrong answers among them"},
			func(t *Trial) uint64 { return t.Errors }),
		part(Figure{Name: "conflicts", Field: "conflicts", Title: "conflicts", Meaning: "of `operations`: compare-and-sets whose condition did not hold"},
			func(t *Trial) uint64 { return t.Conflicts }),
		part(Figure{Name: "misses", Field: "misses", Meaning: "of `operations`: reads of a key that is not there"},
			func(t *Trial) uint64 { return t.Misses }),
		part(Figure{Name: "stale", Field: "stale", Better: Less,
			Meaning: "of `operations`: reads that returned a value which quorumbench wrote earlier, in this run or another"},
			func(t *Trial) uint64 { return t.Stale }),
		part(Figure{Name: "unverifiable", Field: "unverifiable",
			Meaning: "of `operations`: reads of a value below 16 bytes, which carries no checksum"},
			func(t *Trial) uint64 { return t.Unverifiable }),
		{Name: "keys-read", Field: "keys_read", Unit: measure.Number, Missing: "it reads no keys",
			Meaning: "keys that gets, exists, ranges and txn-gets of `operations` read, or counted; `null` without any",
			of:      maybe(func(t *Trial) *uint64 { return t.KeysRead })},
		{Name: "keys-per-op", Column: "keys_read_per_operation", Title: "keys/op", Unit: measure.Ratio, Requires: manyKeys, Missing: "no operation completed",
			of: func(t *Trial) Value {
				if t.KeysRead == nil || t.Operations == 0 || !manyKeys.Has(&t.Conditions) {
					return Value{}
				}
				return Value{Number: float64(*t.KeysRead) / float64(t.Operations), Known: true}
			}},
		part(Figure{Name: "wrong-answers", Field: "wrong_answers", Better: Less,
			Meaning: "of `errors`: another key, a damaged value, one that was replaced before a linearizable read began, a range outside of its interval, out of order or over its limit"},
			func(t *Trial) uint64 { return t.WrongAnswers }),
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		kind := o.String()
		all = append(all, part(Figure{Name: "errors-" + strings.ReplaceAll(kind, "_", "-"), Column: "errors_" + kind, Better: Less},
			func(t *Trial) uint64 { return t.ErrorsByKind[kind] }))
	}
	return append(all, Figure{Name: "error-share", Column: "error_share", Unit: measure.Share, Better: Less, Whole: due, Missing: due.None,
		of: func(t *Trial) Value {
			if t.Due == 0 {
				return Value{}
			}
			return Value{Number: float64(t.Errors) / float64(t.Due), Known: true}
		}})
}

// rateFigures are what was done a second.
func rateFigures() []Figure {
	return []Figure{
		{Name: "completed", Line: "completed", Field: "completed_in_window", Unit: measure.Number, Better: More,
			Meaning: "successes *done* in the window, whenever they were due", of: number(func(t *Trial) uint64 { return t.Completed })},
		{Name: "ops", Line: "operations_per_second", Field: "operations_per_second", Title: "throughput", Unit: measure.Rate, Better: More,
			Meaning: "`completed_in_window` / `seconds`", of: number(func(t *Trial) float64 { return t.PerSecond })},
		{Name: "gap", Field: "longest_gap_seconds", Title: "gap", Unit: measure.Seconds, Better: Less, Below: 0.001,
			Meaning: "the longest time without any operation done, to 1 ms", of: number(func(t *Trial) float64 { return t.LongestGap })},
		{Field: "longest_gap_at_seconds", Unit: measure.Seconds,
			Meaning: "when that began, counted from the window's opening; `null` if it is below 1 ms", of: maybe(func(t *Trial) *float64 { return t.LongestGapAt })},
		{Field: "failed_from_percentile", Unit: measure.Number, Better: More,
			Meaning: "100 × `operations` / `due`: above it operations had failed; `null` if none had", of: maybe(func(t *Trial) *float64 { return t.FailedFrom })},
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
			Meaning: "of all operations due, failed ones included, from when one was due until it ended: the slowest", of: maybe(func(t *Trial) *float64 { return t.Slowest })},
		Figure{Name: "spread", Field: "spread_ns", Unit: measure.Nanoseconds, Better: Less, Missing: none,
			Meaning: "the standard deviation of the same", of: maybe(func(t *Trial) *float64 { return t.Spread })},
		Figure{Name: "rate-share", Column: "rate_share", Unit: measure.Share, Better: More, Missing: "nothing was due by a rate",
			of: func(t *Trial) Value {
				if t.Rate == nil || *t.Rate <= 0 {
					return Value{}
				}
				return Value{Number: t.PerSecond / *t.Rate, Known: true}
			}})
}

// flightFigures are what was under way, and what happened to connections and
// members.
func flightFigures() []Figure {
	return []Figure{
		{Name: "carried-in", Field: "carried_in", Unit: measure.Number, Whole: due,
			Meaning: "operations in flight when the window opened", of: number(func(t *Trial) uint64 { return t.CarriedIn })},
		{Name: "carried-in-age", Field: "carried_in_age_ns", Unit: measure.Nanoseconds,
			Meaning: "the age of the oldest of those then", of: number(func(t *Trial) int64 { return t.CarriedInAgeNS })},
		{Name: "retries", Field: "retries", Unit: measure.Number, Better: Less, Requires: stmWrites, Missing: "nothing is recorded of its transactions",
			Meaning: "only with `stm` operations: how often a conflict made those that completed begin again", of: maybe(func(t *Trial) *uint64 { return t.Retries })},
		{Name: "retries-per-op", Column: "retries_per_operation", Unit: measure.Ratio, Better: Less, Requires: stmWrites, Missing: "no transaction completed",
			of: func(t *Trial) Value {
				if t.Retries == nil || t.Operations == 0 {
					return Value{}
				}
				return Value{Number: float64(*t.Retries) / float64(t.Operations), Known: true}
			}},
		{Name: "max-in-flight", Field: "max_in_flight", Unit: measure.Number,
			Meaning: "operations between due and done: the most", of: number(func(t *Trial) int { return t.HighestFlight })},
		{Name: "in-flight", Field: "mean_in_flight", Unit: measure.Number,
			Meaning: "operations between due and done: the mean over time", of: number(func(t *Trial) float64 { return t.MeanInFlight })},
		{Name: "capped", Field: "in_flight_capped", Unit: measure.Number, Better: Less,
			Meaning: "how many operations the limit held back", of: number(func(t *Trial) uint64 { return t.Capped })},
		{Name: "waited-for-connection", Field: "waited_for_connection", Unit: measure.Number, Better: Less,
			Meaning: "open loop: how many operations found every connection occupied (HTTP/1.1: each takes one at a time)", of: number(func(t *Trial) uint64 { return t.NoRoom })},
		{Name: "resting-clients", Field: "mean_resting_clients", Unit: measure.Number,
			Meaning: "closed loop: the time-weighted mean of clients that rested after a refusal", of: number(func(t *Trial) float64 { return t.MeanResting })},
		{Name: "reconnects", Field: "reconnects", Unit: measure.Number, Better: Less, Whole: due,
			Meaning: "how often a connection was made again", of: number(func(t *Trial) uint64 { return t.Reconnects })},
		{Name: "bytes-in", Line: "bytes_in", Field: "bytes_in", Unit: measure.Bytes,
			Meaning: "that all connections brought", of: number(func(t *Trial) uint64 { return t.BytesIn })},
		{Name: "bytes-out", Line: "bytes_out", Field: "bytes_out", Unit: measure.Bytes,
			Meaning: "that were written to them", of: number(func(t *Trial) uint64 { return t.BytesOut })},
		{Name: "extra-requests", Field: "extra_requests", Unit: measure.Number, Whole: due,
			Meaning: "requests beyond one an operation, of operations that completed", of: number(func(t *Trial) uint64 { return t.Extra })},
		{Name: "late-answers", Field: "late_answers", Title: "late answers", Line: "late_answers", Unit: measure.Number, Better: Less, Whole: due,
			Meaning: "answers that came in the window after their operation had timed out: those were slow, and not lost. A store that answers in order, as ZooKeeper does, sends them; where a request can be cancelled, or its connection is replaced, none comes", of: number(func(t *Trial) uint64 { return t.Late })},
		{Name: "lost-members", Unit: measure.Number, Better: Less, Whole: due, Column: "lost_members",
			of: number(func(t *Trial) int { return len(t.LostMembers) })},
		{Name: "term-changes", Field: "term_changes", Unit: measure.Number, Whole: due,
			Meaning: "elections in the window, by their times in events.jsonl", of: number(func(t *Trial) int { return max(t.TermChanges, 0) })},
		{Name: "held-clients", Field: "held_clients", Unit: measure.Number, Better: Less,
			Meaning: "clients of a closed loop that waited for an operation at a member from which the load had moved away; 0 in an open loop", of: number(func(t *Trial) int { return t.HeldClients })},
		{Name: "held-longest", Field: "held_longest_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "the longest that one of those waited from the move on", of: number(func(t *Trial) int64 { return t.HeldLongestNS })},
	}
}

// costFigures are what the generator and the members' processes used.
func costFigures() []Figure {
	const idle, unseen = "no operation completed", "what the members' processes used is not known"
	return []Figure{
		{Name: "cpu", Field: "client_cpu_seconds", Unit: measure.Seconds, Better: Less,
			Meaning: "the generator's processor time, user and system", of: number(func(t *Trial) float64 { return t.CPUSeconds })},
		{Name: "cpu-per-op", Field: "client_cpu_ns_per_operation", Title: "gen CPU/op", Unit: measure.Nanoseconds, Better: Less, Missing: idle,
			Meaning: "that divided by `completed_in_window`", of: maybe(func(t *Trial) *float64 { return t.CPUPerOp })},
		{Name: "rss", Field: "client_max_rss_bytes", Unit: measure.Bytes, Better: Less,
			Meaning: "the generator's most resident memory", of: number(func(t *Trial) int64 { return t.MaxRSSBytes })},
		{Name: "store-cpu", Field: "store_cpu_seconds", Unit: measure.Seconds, Better: Less, Missing: unseen,
			Meaning: "the processor time, user and system, of all processes of the members (a proxy and the store behind it, too); `null` where they were not started by this run, or the system does not say",
			of:      maybe(func(t *Trial) *float64 { return t.StoreCPUSeconds })},
		{Name: "store-cpu-per-op", Field: "store_cpu_ns_per_operation", Title: "store CPU/op", Unit: measure.Nanoseconds, Better: Less, Missing: unseen,
			Meaning: "that divided by `completed_in_window`", of: maybe(func(t *Trial) *float64 { return t.StoreCPUPerOp })},
		{Name: "store-rss", Field: "store_max_rss_bytes", Title: "store RSS", Unit: measure.Bytes, Better: Less, Missing: unseen,
			Meaning: "the sum of each process's most resident memory", of: maybe(func(t *Trial) *int64 { return t.StoreMaxRSSBytes })},
	}
}

// disturbanceFigures are what kept the generator from its work.
func disturbanceFigures() []Figure {
	const unknown = "the system does not say"
	return []Figure{
		{Name: "loop-cpu", Field: "loop_cpu_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "of the event loops' threads alone", of: number(func(t *Trial) int64 { return t.LoopCPUNS })},
		{Name: "longest-pause", Field: "longest_pause_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "the longest time that a loop was late for its own wake-up or held by one turn", of: number(func(t *Trial) int64 { return t.LongestPauseNS })},
		{Name: "run-delay", Field: "run_delay_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "how long the loops' threads waited for a processor; 0 where the system does not say", of: number(func(t *Trial) int64 { return t.RunDelayNS })},
		{Name: "run-slices", Field: "run_slices", Unit: measure.Number,
			Meaning: "in how many turns they got one; 0 likewise", of: number(func(t *Trial) int64 { return t.RunSlices })},
		{Name: "paused", Field: "paused_ns", Unit: measure.Nanoseconds, Better: Less,
			Meaning: "how long the loops were late for their own wake-ups, or held by one turn beyond its work, all together", of: number(func(t *Trial) int64 { return t.PausedNS })},
		{Name: "throttled", Field: "throttled_ns", Unit: measure.Nanoseconds, Better: Less, Missing: unknown,
			Meaning: "how long the generator's control group was held back: see rule R6", of: maybe(func(t *Trial) *int64 { return t.ThrottledNS })},
		{Name: "stolen", Field: "stolen_cpu_share", Unit: measure.Share, Better: Less, Missing: unknown,
			Meaning: "the share of the processor time that the machine's host took: see rule R10", of: maybe(func(t *Trial) *float64 { return t.StolenShare })},
		{Name: "busy", Field: "busy_cpu_share", Unit: measure.Share, Missing: unknown,
			Meaning: "the share of the machine's processor time that anything used", of: maybe(func(t *Trial) *float64 { return t.BusyShare })},
		{Name: "foreign", Field: "foreign_cpu_share", Unit: measure.Share, Better: Less, Missing: unknown,
			Meaning: "the share that other programs than the generator and the members used (R23); `null` unless quorumbench started all members on this machine",
			of:      maybe(func(t *Trial) *float64 { return t.ForeignShare })},
	}
}

// watchFigures are what watchers got, of the whole load, its warm-up included.
func watchFigures() []Figure {
	const unknown = "nothing is recorded of its watchers"
	part := func(f Figure, of func(*Watched) uint64) Figure {
		f.Unit, f.Whole, f.Requires, f.Missing, f.of = measure.Number, expected, watchers, unknown, watchedAs(of)
		return f
	}
	return []Figure{
		{Name: "watch-events", Line: "watch.events_per_second", AtEnd: true, Field: "watch.events_per_second", Title: "events", Unit: measure.Rate, Better: More, Requires: watchers, Missing: unknown,
			Meaning: "`events_of_window` / `seconds`", of: watchedAs(func(w *Watched) float64 { return w.PerSecond })},
		part(Figure{Name: "watch-acknowledged", Field: "watch.acknowledged_writes", Meaning: "of watched keys"},
			func(w *Watched) uint64 { return w.Acknowledged }),
		part(Figure{Name: "watch-expected", AtEnd: true, Field: "watch.expected_events", Meaning: "that those make: one for each watcher of the key, and the earlier ones to catch up with"},
			func(w *Watched) uint64 { return w.Expected }),
		part(Figure{Name: "watch-delivered", AtEnd: true, Field: "watch.delivered_events", Meaning: "distinct ones", Better: More},
			func(w *Watched) uint64 { return w.Delivered }),
		part(Figure{Name: "watch-lost", AtEnd: true, Field: "watch.lost_events", Title: "lost", Better: Less,
			Meaning: "versions of a key that were passed over, or acknowledged writes without an event, whichever is more for a watcher and key"},
			func(w *Watched) uint64 { return w.Lost }),
		part(Figure{Name: "watch-duplicated", Line: "watch.duplicated_events", AtEnd: true, Field: "watch.duplicated_events", Title: "twice", Better: Less, Meaning: "that had come before"},
			func(w *Watched) uint64 { return w.Duplicated }),
		part(Figure{Name: "watch-reordered", Line: "watch.reordered_events", AtEnd: true, Field: "watch.reordered_events", Title: "out of order", Better: Less, Meaning: "that came after a later one of their key"},
			func(w *Watched) uint64 { return w.Reordered }),
		part(Figure{Name: "watch-untimed", Field: "watch.untimed_events", Better: Less, Meaning: "delivered, and when their write was sent is not known"},
			func(w *Watched) uint64 { return w.Untimed }),
		part(Figure{Name: "watch-foreign", Field: "watch.foreign_events", Better: Less, Meaning: "of those, not written by this load (or, with `key`, before it)"},
			func(w *Watched) uint64 { return w.Foreign }),
		part(Figure{Name: "watch-wrong", Field: "watch.wrong_events", Better: Less, Meaning: "of keys that the watcher does not watch"},
			func(w *Watched) uint64 { return w.Wrong }),
		part(Figure{Name: "watch-impossible", Field: "watch.impossible_events", Better: Less, Meaning: "that arrived before their write was sent"},
			func(w *Watched) uint64 { return w.Impossible }),
		part(Figure{Name: "watch-resubscribed", Field: "watch.resubscribed", Better: Less,
			Meaning: "how often a watcher was created again, from where it was, after its connection or stream was lost"},
			func(w *Watched) uint64 { return w.Resubscribed }),
		part(Figure{Name: "watch-ended", Field: "watch.ended_watchers", Better: Less, Meaning: "that the store ended for good"},
			func(w *Watched) uint64 { return w.Ended }),
		part(Figure{Name: "watch-in-window", Line: "watch.events", Field: "watch.events_of_window", Meaning: "distinct events of writes due in the window, whenever they came"},
			func(w *Watched) uint64 { return w.InWindow }),
		{Name: "watch-creation-seconds", Field: "watch.creation_seconds", Unit: measure.Seconds, Better: Less, Requires: watchers, Missing: unknown,
			Meaning: "from when the first watcher was asked for until the last was there", of: watchedAs(func(w *Watched) float64 { return w.CreationSeconds })},
	}
}
