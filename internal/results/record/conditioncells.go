package record

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// ConditionCell is a cell that shows one condition in a table.
type ConditionCell struct {
	Name, Text string
	IsWord     bool // the text is a word, not a number
}

// Cells returns one cell for each condition. The cells have the names of the keys in the trial's
// JSON object. For a nested condition, the name begins with the name of its parent, for example
// scaled_factor. The cells for the load follow: first those for the columns from loadColumns, and
// then one for each other parameter, whose text has the format of a scenario file. Every trial has
// the same list of cells. If a trial does not have a condition, the cell is empty. A csv tag
// changes the name of a field's cell, and the csv tag "-" omits the cell.
func (c *Conditions) Cells(parameters []*scenario.Parameter) []ConditionCell {
	cells := conditionCells(nil, "", reflect.TypeOf(*c), reflect.ValueOf(*c))
	has := map[string]bool{"rate": true, "threads": true} // rate and threads are already among the conditions, as rate and loops
	for _, column := range loadColumns(&c.Load) {
		text, word := conditionText(reflect.ValueOf(column.value))
		cells = append(cells, ConditionCell{column.name, text, word})
		has[column.parameter] = true
	}
	for _, p := range parameters {
		if p.BelongsToLoad() && !has[p.Key] {
			cells = append(cells, ConditionCell{Name: strings.NewReplacer("-", "_", ".", "_").Replace(p.Key), Text: p.Text(&c.Load), IsWord: true})
		}
	}
	return cells
}

// loadColumn is a column that shows a part of the load.
type loadColumn struct {
	name      string
	parameter string // key of the parameter; empty if no parameter corresponds to the column, or if the column shows only a part of it
	value     any    // nil if the load does not have this part
}

// loadColumns returns the columns for those parts of a load that CSV files show differently from
// scenario files. For example, times are in seconds, and each part of a distribution has its own
// column.
func loadColumns(l *scenario.Load) []loadColumn {
	all := []loadColumn{
		{"mix", "mix", l.Mix}, {"target", "target", l.Target}, {"connections", "connections", l.Connections}, {"new_connection", "new-connection", l.NewConnection},
		{"clients", "clients", l.Clients}, {"arrival", "arrival", l.Arrival}, {"rate_of", "", l.Rate.SourceTrial}, {"total", "total", l.Total},
		{"duration_seconds", "duration", l.Duration}, {"warmup_seconds", "warmup", l.Warmup}, {"timeout_seconds", "timeout", l.Timeout},
		{"max_in_flight_limit", "max-in-flight", l.MaxInFlight}, {"key_size", "key-size", l.KeySize}, {"value_size", "value-size", l.ValueSize},
		{"key_space", "key-space", l.KeySpace}, {"key_prefix", "prefix", []byte(l.Prefix)}, {"distribution", "distribution", l.Distribution.Name},
		{"distribution_theta", "", l.Distribution.Theta}, {"distribution_hot_keys", "", l.Distribution.HotKeys}, {"distribution_hot_share", "", l.Distribution.HotOps},
		{"range_key", "range-key", l.RangeKey}, {"range_end", "range-end", l.RangeEnd}, {"range_limit", "range-limit", l.RangeLimit},
		{"count_only", "count-only", l.Scan.CountOnly}, {"keys_only", "keys-only", l.Scan.KeysOnly}, {"streamed", "stream", l.Scan.Streamed},
		{"page_size", "page-size", l.Scan.PageSize}, {"txn_keys", "txn-keys", l.TxnKeys},
	}
	all = append(all, partColumns(l.STM, func(s *scenario.STM) []loadColumn {
		return []loadColumn{{"stm_isolation", "stm.isolation", s.Isolation}, {"stm_keys", "stm.keys", s.KeysPerTxn},
			{"stm_write_percent", "stm.write-percent", s.WritePercent}, {"stm_locker", "stm.locker", s.Locker}}
	})...)
	all = append(all, partColumns(l.Watch, func(w *scenario.Watch) []loadColumn {
		return []loadColumn{{"watchers", "watch.watchers", w.Watchers}, {"watching_streams", "watch.streams", w.Streams},
			{"watching_connections", "watch.connections", w.Connections}, {"watching_watched_keys", "watch.watched-keys", w.WatchedKeys},
			{"watching_keys_per_watcher", "watch.keys-per-watcher", w.KeysPerWatcher}, {"watching_previous_values", "watch.prev-kv", w.PrevKV},
			{"watching_key", "watch.key", w.Key}, {"watching_earlier_events", "watch.earlier-events", w.EarlierEvents},
			{"watching_created_in_window", "watch.created-in-window", w.CreatedInWindow}}
	})...)
	return append(all, []loadColumn{
		{"compact_interval_seconds", "compact.every", l.Compact.Interval}, {"compact_behind", "compact.behind", l.Compact.KeptRevisions},
		{"preloaded", "preload", l.Preload}, {"seed", "", l.Seed}, {"volatile_meant", "allow-volatile", l.AllowVolatile},
	}...)
}

// partColumns returns the columns for an optional part of the load. If section is nil, the columns
// have no values.
func partColumns[T any](section *T, columns func(*T) []loadColumn) []loadColumn {
	if section != nil {
		return columns(section)
	}
	all := columns(new(T))
	for i := range all {
		all[i].value = nil
	}
	return all
}

// conditionCells appends a cell for each field of a struct. v is invalid if the trial does not have
// the struct.
func conditionCells(appended []ConditionCell, prefix string, structType reflect.Type, v reflect.Value) []ConditionCell {
	for i := range structType.NumField() {
		field := structType.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || field.Tag.Get("csv") == "-" {
			continue
		}
		inner, value := field.Type, reflect.Value{}
		if v.IsValid() {
			value = v.Field(i)
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
			if value.IsValid() {
				value = value.Elem()
			}
		}
		if inner.Kind() == reflect.Struct {
			appended = conditionCells(appended, prefix+name+"_", inner, value)
			continue
		}
		text, word := conditionText(value)
		appended = append(appended, ConditionCell{prefix + name, text, word})
	}
	return appended
}

// conditionText formats the value of a condition. It also reports whether the text is a word.
// Durations are in seconds.
func conditionText(v reflect.Value) (text string, word bool) {
	if !v.IsValid() {
		return "", false
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return strconv.FormatFloat(x.Seconds(), 'f', -1, 64), false
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64), false
	case []byte:
		return scenario.KeyText(x), true
	case string, fmt.Stringer:
		return fmt.Sprint(x), true
	case []string:
		return strings.Join(x, ", "), true
	case []scenario.Operation:
		parts := make([]string, 0, len(x))
		for _, o := range x {
			parts = append(parts, strings.Join(strings.Fields(fmt.Sprintf("%s %s %g", o.Kind, o.Consistency, o.Weight)), " "))
		}
		return strings.Join(parts, ", "), true
	case map[string]string:
		parts := make([]string, 0, len(x))
		for _, key := range slices.Sorted(maps.Keys(x)) {
			parts = append(parts, key+"="+x[key])
		}
		return strings.Join(parts, ", "), true
	}
	return fmt.Sprint(v.Interface()), false
}
