package analyze

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// facet is a condition that stands above the table when all trials share it,
// and in a column of its own when they do not.
type facet struct {
	title string // of the column
	of    func(*record.Trial) string
	above func(*record.Trial) string
}

// facets are the conditions of the load.
func facets() []facet {
	return []facet{
		{"store", Store, nil},
		{"members", func(t *record.Trial) string { return strconv.Itoa(t.Members) }, nil},
		{"conns", connections, connectionsAbove},
		{"key", keySize, withKeys(keySizeAbove)},
		{"value", valueSize, withKeys(valueSizeAbove)},
		{"keys", keys, withKeys(keysAbove)},
		{"ranges", func(t *record.Trial) string { return readable.OrDash(ranges(t)) }, rangesAbove},
		{"compacted", func(t *record.Trial) string { return readable.OrDash(compacted(t)) }, func(t *record.Trial) string {
			if text := compacted(t); text != "" {
				return "compacted " + text
			}
			return ""
		}},
		{"transaction", func(t *record.Trial) string { return readable.OrDash(transactions(t)) }, transactionsAbove},
		{"warm-up", func(t *record.Trial) string { return readable.Seconds(t.Warmup.Seconds()) },
			func(t *record.Trial) string { return "warm-up " + readable.Seconds(t.Warmup.Seconds()) }},
		{"window", window, func(t *record.Trial) string { return "window " + window(t) }},
		{"timeout", func(t *record.Trial) string { return readable.Seconds(t.Timeout.Seconds()) },
			func(t *record.Trial) string { return "timeout " + readable.Seconds(t.Timeout.Seconds()) }},
	}
}

// withKeys leaves out what is about keys for operations that have none.
func withKeys(above func(*record.Trial) string) func(*record.Trial) string {
	return func(t *record.Trial) string {
		if t.Operation == kv.KeepAlive.String() {
			return ""
		}
		return above(t)
	}
}

// scan says how ranges are read, where it is not plainly.
func scan(t *record.Trial) string {
	switch {
	case t.Scan.CountOnly:
		return "counted only"
	case t.Scan.Streamed && t.Scan.KeysOnly:
		return "keys only, as a stream"
	case t.Scan.Streamed:
		return "as a stream"
	case t.Scan.KeysOnly && t.Scan.PageSize > 0:
		return "keys only, in pages of " + readable.Plural(uint64(t.Scan.PageSize), "key")
	case t.Scan.KeysOnly:
		return "keys only"
	case t.Scan.PageSize > 0:
		return "in pages of " + readable.Plural(uint64(t.Scan.PageSize), "key")
	}
	return ""
}

// compacted says how the store was compacted beside the load.
func compacted(t *record.Trial) string {
	if t.Compact.Every == 0 {
		return ""
	}
	return fmt.Sprintf("every %s up to %s behind", readable.Seconds(t.Compact.Every.Seconds()), readable.Plural(uint64(t.Compact.Behind), "revision"))
}

// clients is a facet of the closed loop alone; it stands in its heading.
func clients() facet {
	return facet{"clients", func(t *record.Trial) string { return readable.Count(uint64(t.Clients)) },
		func(t *record.Trial) string { return readable.Plural(uint64(t.Clients), "client") }}
}

// Store is the store's kind and version, and the scenario's name for the build.
func Store(t *record.Trial) string {
	name := strings.TrimSpace(t.Store + " " + t.Version)
	if t.Label != "" {
		name += " (" + t.Label + ")"
	}
	return name
}

func keys(t *record.Trial) string {
	switch {
	case len(t.RangeKey) == 0 || len(t.Mix) > 1:
		return readable.Count(t.KeySpace) + " " + distribution(t)
	case len(t.RangeEnd) == 0:
		return fmt.Sprintf("%q", scenario.KeyText(t.RangeKey))
	}
	if text := interval(t); text != "" {
		return text
	}
	return fmt.Sprintf("%q to %q", scenario.KeyText(t.RangeKey), scenario.KeyText(t.RangeEnd))
}

// interval is what a range over everything is called.
func interval(t *record.Trial) string {
	if scenario.KeyText(t.RangeKey) == "0x00" && scenario.KeyText(t.RangeEnd) == "0xff" {
		return "all keys"
	}
	return ""
}

func keysAbove(t *record.Trial) string {
	switch {
	case len(t.RangeKey) == 0:
		return readable.Plural(t.KeySpace, "key") + " (" + distribution(t) + ")"
	case len(t.Mix) > 1:
		what := cmp.Or(interval(t), fmt.Sprintf("%q to %q", scenario.KeyText(t.RangeKey), scenario.KeyText(t.RangeEnd)))
		if t.RangeLimit > 0 {
			what += " of at most " + readable.Plural(uint64(t.RangeLimit), "key")
		}
		return fmt.Sprintf("%s (%s), ranges over %s", readable.Plural(t.KeySpace, "key"), distribution(t), what)
	case interval(t) != "":
		return interval(t)
	case len(t.RangeEnd) == 0:
		return "key " + keys(t)
	}
	return "keys from " + keys(t)
}

// transaction says what an optimistic transaction is, where there are any.
func transaction(t *record.Trial) string {
	s := t.STM
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("%s a transaction, %d %% of them written, isolation %s", readable.Plural(uint64(s.KeysPerTxn), "key"), s.WritePercent, s.Isolation)
	if s.Locker != kv.LockNone {
		text += ", under " + s.Locker.String()
	}
	return text
}

func distribution(t *record.Trial) string {
	switch {
	case t.Distribution.Theta > 0:
		return fmt.Sprintf("%s %g", t.Distribution.Name, t.Distribution.Theta)
	case t.Distribution.HotKeys > 0:
		return fmt.Sprintf("%s %s/%s", t.Distribution.Name, measure.Percent(t.Distribution.HotKeys), measure.Percent(t.Distribution.HotOps))
	}
	return readable.OrDash(t.Distribution.Name)
}

func window(t *record.Trial) string {
	if w := t.Load.Watch; w != nil && w.Expect > 0 {
		return "until the watchers have caught up, at most " + readable.Seconds(t.Duration.Seconds())
	}
	if t.Total > 0 {
		return readable.Plural(t.Total, "operation")
	}
	return readable.Seconds(t.Duration.Seconds())
}

// shared reports whether a facet is the same for all.
func (f facet) shared(all []*Row) bool {
	for _, g := range all {
		if f.of(g.First()) != f.of(all[0].First()) {
			return false
		}
	}
	return true
}

// operation is the trial's operation, or its mix with the weights.
func operation(t *record.Trial) string {
	if len(t.Mix) < 2 {
		return t.Operation
	}
	return t.Operation + " (" + mix(t) + ")"
}

func mix(t *record.Trial) string {
	sum := 0.0
	for _, s := range t.Mix {
		sum += s.Weight
	}
	parts := make([]string, 0, len(t.Mix))
	for _, s := range t.Mix {
		parts = append(parts, s.Kind.String()+" "+measure.Percent(s.Weight/sum))
	}
	return strings.Join(parts, ", ")
}
