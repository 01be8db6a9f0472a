package record

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// full is a load with every parameter that the schema 1 has.
func full() flatLoad {
	return flatLoad{
		Mix:    []flatOperation{{"get", "linearizable", 3}, {"stm", "", 0.5}},
		Target: "member:2", Connections: 3, NewConnection: true, Clients: 4, Arrival: "poisson", RateOf: "closed", Total: 5,
		DurationSeconds: 1.5, WarmupSeconds: 0.25, TimeoutSeconds: 10, MaxInFlight: 6, KeySize: 7, ValueSize: 8, KeySpace: 9,
		KeyPrefix: "a/", Distribution: "zipfian", Theta: 0.99, HotKeys: 0.2, HotOps: 0.8, RangeKey: "a", RangeEnd: "b", RangeLimit: 10,
		CountOnly: true, KeysOnly: true, Streamed: true, PageSize: 11, TxnKeys: 12,
		STM:            &flatSTM{Isolation: "ss", Keys: 13, WritePercent: 50, Locker: "lock-rpc"},
		Watching:       &flatWatch{Watchers: 14, Streams: 15, Connections: 16, Keys: 17, Span: 18, PrevKV: true, Key: "w", Earlier: 19, AtWindow: true},
		CompactSeconds: 0.1, CompactBehind: 20, Preloaded: true, Seed: 21, VolatileMeant: true,
	}
}

// Every parameter of a load is in a column of its own, whether the schema 1 had
// it or not: one that is added to the scenario package is not forgotten here.
func TestEveryParameterHasAColumn(t *testing.T) {
	of := full()
	load, err := of.load()
	must(t, err)
	rate := 5.0
	with, without := Conditions{Load: load, Loops: 2, Rate: &rate}, Conditions{}
	cells := func(c *Conditions) map[string]string {
		all := map[string]string{}
		for _, cell := range append(c.Cells(), c.LaterCells()...) {
			if _, twice := all[cell.Name]; twice {
				t.Errorf("there are two columns %s", cell.Name)
			}
			all[cell.Name] = cell.Text
		}
		return all
	}
	set, zero := cells(&with), cells(&without)
	keys := map[string]bool{}
	for _, p := range scenario.Parameters() {
		if !p.OfLoad() {
			continue
		}
		keys[p.Key] = true
		column, earlier := flatColumns[p.Key]
		if earlier && set[column] == zero[column] {
			t.Errorf("%s is not in the column %q: %q with it and without", p.Key, column, set[column])
		}
		if later := strings.NewReplacer("-", "_", ".", "_").Replace(p.Key); !earlier {
			if _, ok := set[later]; !ok {
				t.Errorf("%s has no column", p.Key)
			}
		}
	}
	for key := range flatColumns {
		if !keys[key] {
			t.Errorf("there is no parameter %s", key)
		}
	}
}

// A load is the same after it was read from the schema 1 and flattened: no
// parameter of that schema is forgotten in CSV files.
func TestALoadKeepsItsParametersFlat(t *testing.T) {
	allSet(t, reflect.ValueOf(full()))
	for _, want := range []flatLoad{full(), {Target: "any", Arrival: "closed"}} {
		l, err := want.load()
		must(t, err)
		if diff := cmp.Diff(want, flatten(&l)); diff != "" {
			t.Error(diff)
		}
	}
}

// allSet says which fields are left out above; the rate is the conditions'.
func allSet(t *testing.T, v reflect.Value) {
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		if field.IsZero() && name != "Rate" {
			t.Errorf("%s is not set", name)
		}
		if field.Kind() == reflect.Pointer && !field.IsNil() {
			allSet(t, field.Elem())
		}
	}
}
