package analyze

import (
	"cmp"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// scanConditions are how ranges are read.
func scanConditions() []condition {
	yes := strconv.FormatBool
	return []condition{
		{"counting keys instead of reading them", func(c *record.Conditions) string { return yes(c.CountOnly) }},
		{"reading keys without their values", func(c *record.Conditions) string { return yes(c.KeysOnly) }},
		{"reading ranges as a stream", func(c *record.Conditions) string { return yes(c.Streamed) }},
		{"the keys of a page", func(c *record.Conditions) string { return orNothing(c.PageSize) }},
	}
}

// stmConditions are what optimistic transactions are.
func stmConditions() []condition {
	stm := func(of func(*record.STM) string) func(*record.Conditions) string {
		return func(c *record.Conditions) string {
			if c.STM == nil {
				return ""
			}
			return of(c.STM)
		}
	}
	return []condition{
		{"the keys of an stm transaction", stm(func(s *record.STM) string { return strconv.Itoa(s.Keys) })},
		{"the percent of an stm transaction's keys that it writes", stm(func(s *record.STM) string { return strconv.Itoa(s.WritePercent) })},
		{"the isolation of stm transactions", stm(func(s *record.STM) string { return s.Isolation })},
		{"the locker of stm transactions", stm(func(s *record.STM) string { return s.Locker })},
	}
}

// besideConditions are what stands beside the operations.
func besideConditions() []condition {
	watch := func(of func(*record.Watching, *record.Conditions) string) func(*record.Conditions) string {
		return func(c *record.Conditions) string {
			if c.Watching == nil {
				return ""
			}
			return of(c.Watching, c)
		}
	}
	return []condition{
		{"the watchers", watch(func(w *record.Watching, _ *record.Conditions) string { return strconv.Itoa(w.Watchers) })},
		{"the watch streams", watch(func(w *record.Watching, _ *record.Conditions) string { return strconv.Itoa(w.Streams) })},
		{"the watchers' own connections", watch(func(w *record.Watching, _ *record.Conditions) string { return orNothing(int64(w.Connections)) })},
		{"the watched key", watch(func(w *record.Watching, _ *record.Conditions) string { return w.Key })},
		{"the watched keys", watch(func(w *record.Watching, c *record.Conditions) string {
			return strconv.FormatUint(cmp.Or(w.Keys, c.KeySpace), 10)
		})},
		{"the keys that each watcher watches", watch(func(w *record.Watching, _ *record.Conditions) string { return strconv.FormatUint(max(w.Span, 1), 10) })},
		{"the values before in watch events", watch(func(w *record.Watching, _ *record.Conditions) string { return strconv.FormatBool(w.PrevKV) })},
		{"the earlier events that watchers catch up with", watch(func(w *record.Watching, _ *record.Conditions) string { return orNothing(int64(w.Earlier)) })},
		{"the creation of watchers in the window", watch(func(w *record.Watching, _ *record.Conditions) string { return strconv.FormatBool(w.AtWindow) })},
		{"the seconds between compactions", func(c *record.Conditions) string {
			if c.CompactSeconds == 0 {
				return ""
			}
			return strconv.FormatFloat(c.CompactSeconds, 'g', -1, 64)
		}},
		{"the revisions that a compaction keeps", func(c *record.Conditions) string { return orNothing(c.CompactBehind) }},
	}
}

// orNothing is a number, or empty for 0, which is told as none.
func orNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
