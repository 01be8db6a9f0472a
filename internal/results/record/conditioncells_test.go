package record

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// oldTrial is a trial of the schema 1 with every parameter that it has.
const oldTrial = `{"schema":"quorumbench/trial/1",
	"mix":[{"operation":"get","consistency":"linearizable","weight":3},{"operation":"stm","consistency":"","weight":0.5}],
	"target":"member:2","connections":3,"new_connection":true,"clients":4,"arrival":"poisson","rate":5,"rate_of":"closed","total":5,
	"duration_seconds":1.5,"warmup_seconds":0.25,"timeout_seconds":10,"max_in_flight_limit":6,"key_size":7,"value_size":8,"key_space":9,
	"key_prefix":"a/","distribution":"zipfian","distribution_theta":0.99,"distribution_hot_keys":0.2,"distribution_hot_share":0.8,
	"range_key":"a","range_end":"b","range_limit":10,"count_only":true,"keys_only":true,"streamed":true,"page_size":11,"txn_keys":12,
	"stm":{"isolation":"ss","keys":13,"write_percent":50,"locker":"lock-rpc"},
	"watching":{"watchers":14,"streams":15,"connections":16,"watched_keys":17,"keys_per_watcher":18,"previous_values":true,"key":"w","earlier_events":19,"created_in_window":true},
	"compact_interval_seconds":0.1,"compact_behind":20,"preloaded":true,"seed":21,"volatile_meant":true}`

func readTrial(t *testing.T, text string) *Trial {
	t.Helper()
	var trial Trial
	must(t, json.Unmarshal([]byte(text), &trial))
	return &trial
}

func cellsOf(t *testing.T, c *Conditions) map[string]string {
	all := map[string]string{}
	for _, cell := range append(c.Cells(), c.LaterCells(scenario.Parameters(nil))...) {
		if _, twice := all[cell.Name]; twice {
			t.Errorf("there are two columns %s", cell.Name)
		}
		all[cell.Name] = cell.Text
	}
	return all
}

// Every parameter of a load is in a column of its own, whether the schema 1 had
// it or not: one that is added to the scenario package is not forgotten here.
func TestEveryParameterHasAColumn(t *testing.T) {
	with, without := readTrial(t, oldTrial).Conditions, Conditions{}
	rate := 5.0
	with.Loops, with.Rate = 2, &rate
	set, zero := cellsOf(t, &with), cellsOf(t, &without)
	columns := map[string]string{"rate": "rate", "threads": "loops"}
	for _, c := range loadColumns(&with.Load) {
		columns[c.parameter] = c.name
	}
	delete(columns, "")
	for _, p := range scenario.Parameters(nil) {
		if !p.OfLoad() {
			continue
		}
		column, earlier := columns[p.Key]
		delete(columns, p.Key)
		if earlier && set[column] == zero[column] {
			t.Errorf("%s is not in the column %q: %q with it and without", p.Key, column, set[column])
		}
		if later := strings.NewReplacer("-", "_", ".", "_").Replace(p.Key); !earlier {
			if _, ok := set[later]; !ok {
				t.Errorf("%s has no column", p.Key)
			}
		}
	}
	for key := range columns {
		t.Errorf("there is no parameter %s", key)
	}
}

// What a trial of the schema 1 has of its load is in its columns: nothing is
// forgotten there, and nothing in CSV files.
func TestALoadOfTheSchema1KeepsItsParameters(t *testing.T) {
	var fields map[string]any
	must(t, json.Unmarshal([]byte(oldTrial), &fields))
	trial := readTrial(t, oldTrial)
	got := cellsOf(t, &trial.Conditions)
	want := map[string]string{"mix": "get linearizable 3, stm 0.5", "schema": "", "rate": "5"}
	for name, value := range fields {
		text, err := json.Marshal(value)
		must(t, err)
		if inner, ok := value.(map[string]any); ok {
			for of, value := range inner {
				text, err := json.Marshal(value)
				must(t, err)
				if of != "watchers" {
					of = name + "_" + of
				}
				want[of] = strings.Trim(string(text), `"`)
			}
		} else if _, known := want[name]; !known {
			want[name] = strings.Trim(string(text), `"`)
		}
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, not %q", name, got[name], text)
		}
	}
	if none := readTrial(t, `{"schema":"quorumbench/trial/1","target":"any","arrival":"closed","stm":null,"rate":null}`); none.STM != nil || none.Load.Watch != nil || none.Load.Rate.PerSecond != 0 {
		t.Errorf("%+v", none.Load)
	}
	if alone := readTrial(t, `{"schema":"quorumbench/trial/1","rate":7}`); alone.Load.Rate.PerSecond != 7 {
		t.Errorf("%+v", alone.Load.Rate)
	}
}
