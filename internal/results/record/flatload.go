package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// ConditionCell is a condition as a table has it.
type ConditionCell struct {
	Name, Text string
	Word       bool // and no number
}

// Cells are all conditions, each under its name in the trial's JSON object; one
// within another has the other's name before it, as in scaled_factor. Those of
// the load are under the names of loadColumns. Which they are does not depend on
// the trial. What a trial does not have is empty. A tag csv gives a field another
// name there, or - for none.
func (c *Conditions) Cells() []ConditionCell {
	cells := conditionCells(nil, "", reflect.TypeOf(*c), reflect.ValueOf(*c))
	for _, column := range loadColumns(&c.Load) {
		text, word := conditionText(reflect.ValueOf(column.value))
		cells = append(cells, ConditionCell{column.name, text, word})
	}
	return cells
}

// LaterCells are the load's parameters that have no loadColumn, as scenario files
// write them: of all parameters that there are, whether this load has them or not.
// Their columns stand behind all others.
func (c *Conditions) LaterCells(all []*scenario.Parameter) (cells []ConditionCell) {
	earlier := map[string]bool{"rate": true, "threads": true} // the conditions have them: rate and loops
	for _, column := range loadColumns(&c.Load) {
		earlier[column.parameter] = true
	}
	for _, p := range all {
		if p.OfLoad() && !earlier[p.Key] {
			cells = append(cells, ConditionCell{Name: strings.NewReplacer("-", "_", ".", "_").Replace(p.Key), Text: p.Text(&c.Load), Word: true})
		}
	}
	return cells
}

// loadColumn is a part of a load by itself.
type loadColumn struct {
	name      string
	parameter string // its key; empty for what is a part of one, or of none
	value     any    // nil where the load does not have it
}

// loadColumns are the parts of a load in CSV files. In trials of the schema 1 they
// are fields of the same names, but for those of stm and watching, which are
// within these.
func loadColumns(l *scenario.Load) []loadColumn {
	all := []loadColumn{
		{"mix", "mix", l.Mix}, {"target", "target", l.Target}, {"connections", "connections", l.Connections}, {"new_connection", "new-connection", l.NewConnection},
		{"clients", "clients", l.Clients}, {"arrival", "arrival", l.Arrival}, {"rate_of", "", l.Rate.Of}, {"total", "total", l.Total},
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
			{"watching_keys_per_watcher", "watch.keys-per-watcher", w.Span}, {"watching_previous_values", "watch.prev-kv", w.PrevKV},
			{"watching_key", "watch.key", w.Key}, {"watching_earlier_events", "watch.earlier-events", w.Expect},
			{"watching_created_in_window", "watch.created-in-window", w.AtWindow}}
	})...)
	return append(all, []loadColumn{
		{"compact_interval_seconds", "compact.every", l.Compact.Every}, {"compact_behind", "compact.behind", l.Compact.Behind},
		{"preloaded", "preload", l.Preload}, {"seed", "", l.Seed}, {"volatile_meant", "allow-volatile", l.VolatileMeant},
	}...)
}

// partColumns are those of a part that the load may not have.
func partColumns[T any](part *T, columns func(*T) []loadColumn) []loadColumn {
	if part != nil {
		return columns(part)
	}
	all := columns(new(T))
	for i := range all {
		all[i].value = nil
	}
	return all
}

// conditionCells adds those of a struct, whose value is not valid where the
// trial does not have it.
func conditionCells(to []ConditionCell, prefix string, of reflect.Type, v reflect.Value) []ConditionCell {
	for i := range of.NumField() {
		field := of.Field(i)
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
			to = conditionCells(to, prefix+name+"_", inner, value)
			continue
		}
		text, word := conditionText(value)
		to = append(to, ConditionCell{prefix + name, text, word})
	}
	return to
}

// conditionText is one condition, and whether it is no number. A length of time
// is in seconds.
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

// oldTrialSchema had the load's parameters beside the figures, by other names.
const oldTrialSchema = "quorumbench/trial/1"

// readLoad reads the load of a trial's JSON object.
func (t *Trial) readLoad(b []byte) error {
	if t.Schema == oldTrialSchema {
		t.Schema = TrialSchema // as it is from here on, and as it would be written
		return t.readOldLoad(b)
	}
	var now struct {
		Seed uint64          `json:"seed"`
		Load json.RawMessage `json:"load"`
	}
	if err := json.Unmarshal(b, &now); err != nil {
		return err
	}
	if len(now.Load) > 0 {
		if err := t.Decode(now.Load); err != nil {
			return err
		}
	}
	t.Seed = now.Seed
	return nil
}

// readOldLoad reads the load of a trial of the schema 1, whose fields are those of
// loadColumns.
func (t *Trial) readOldLoad(b []byte) error {
	var old struct {
		Seed    uint64  `json:"seed"`
		Rate    float64 `json:"rate"`
		RateOf  string  `json:"rate_of"`
		Name    string  `json:"distribution"`
		Theta   float64 `json:"distribution_theta"`
		HotKeys float64 `json:"distribution_hot_keys"`
		HotOps  float64 `json:"distribution_hot_share"`
		// Those of stm and watching by their own names.
		Parts map[string]json.RawMessage `json:"-"`
		STM   map[string]json.RawMessage `json:"stm"`
		Watch map[string]json.RawMessage `json:"watching"`
	}
	for _, to := range []any{&old, &old.Parts} {
		if err := json.Unmarshal(b, to); err != nil {
			return err
		}
	}
	parts := map[string]map[string]any{"": {}}
	for of, there := range map[string]bool{"stm": old.STM != nil, "watch": old.Watch != nil, "compact": true} {
		if parts[of] = map[string]any{}; there {
			parts[""][of] = parts[of]
		}
	}
	for _, c := range loadColumns(&scenario.Load{STM: &scenario.STM{}, Watch: &scenario.Watch{}}) {
		of, key, within := strings.Cut(c.parameter, ".")
		if !within {
			of, key = "", c.parameter
		}
		from, name := old.Parts, c.name
		switch of {
		case "stm":
			from, name = old.STM, strings.TrimPrefix(name, "stm_")
		case "watch":
			from, name = old.Watch, strings.TrimPrefix(name, "watching_")
		}
		raw := from[name]
		if text := string(raw); key == "" || key == "distribution" || text == "" || text == `""` {
			continue
		}
		parts[of][key] = raw
		if _, span := c.value.(time.Duration); span {
			var seconds float64
			if err := json.Unmarshal(raw, &seconds); err != nil {
				return err
			}
			parts[of][key] = time.Duration(math.Round(seconds * 1e9)).String()
		}
	}
	load, err := json.Marshal(parts[""])
	if err != nil {
		return err
	}
	if err := t.Decode(load); err != nil {
		return err
	}
	t.Seed = old.Seed
	t.Distribution = scenario.Distribution{Name: old.Name, Theta: old.Theta, HotKeys: old.HotKeys, HotOps: old.HotOps}
	// What share of the other trial's throughput it was, is not known.
	if t.Load.Rate.Of = scenario.KeyText([]byte(old.RateOf)); old.RateOf == "" {
		t.Load.Rate.PerSecond = old.Rate
	}
	return nil
}
