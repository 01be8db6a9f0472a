package record

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// filledTrial is a trial that sets all parameters of a load that have their own column.
const filledTrial = `{"schema":"quorumbench/trial/2","seed":21,"load":{
	"mix":[{"operation":"get","consistency":"linearizable","weight":3},{"operation":"stm","weight":0.5}],"target":"member:2","connections":3,"new-connection":true,"clients":4,
	"arrival":"poisson","rate":5,"total":5,"duration":"1.5s","warmup":"250ms","timeout":"10s","max-in-flight":6,"key-size":7,"value-size":8,
	"key-space":9,"prefix":"a/","distribution":"zipfian:0.99","range-key":"a","range-end":"b","range-limit":10,"count-only":true,
	"keys-only":true,"stream":true,"page-size":11,"txn-keys":12,
	"stm":{"isolation":"ss","keys":13,"write-percent":50,"locker":"lock-rpc"},
	"watch":{"watchers":14,"streams":15,"connections":16,"watched-keys":17,"keys-per-watcher":18,"prev-kv":true,"key":"w","earlier-events":19,"created-in-window":true},
	"compact":{"every":"100ms","behind":20},"preload":true,"allow-volatile":true}}`

func readTrial(t *testing.T, text string) *Trial {
	t.Helper()
	var trial Trial
	must(t, json.Unmarshal([]byte(text), &trial))
	return &trial
}

func cellsOf(t *testing.T, c *Conditions) map[string]string {
	all := map[string]string{}
	for _, cell := range c.Cells(scenario.Parameters(nil)) {
		if _, twice := all[cell.Name]; twice {
			t.Errorf("two columns are named %s", cell.Name)
		}
		all[cell.Name] = cell.Text
	}
	return all
}

// Every parameter of a load has a column. If a new parameter in the scenario package has no column,
// this test fails.
func TestEveryParameterHasAColumn(t *testing.T) {
	with, without := readTrial(t, filledTrial).Conditions, Conditions{}
	rate := 5.0
	with.Loops, with.Rate = 2, &rate
	set, zero := cellsOf(t, &with), cellsOf(t, &without)
	columns := map[string]string{"rate": "rate", "threads": "loops"}
	for _, c := range loadColumns(&with.Load) {
		columns[c.parameter] = c.name
	}
	delete(columns, "")
	for _, p := range scenario.Parameters(nil) {
		if !p.BelongsToLoad() {
			continue
		}
		column, own := columns[p.Key]
		delete(columns, p.Key)
		if own && set[column] == zero[column] {
			t.Errorf("the parameter %s has no effect on the column %q: the cell is %q with and without it", p.Key, column, set[column])
		}
		if asWritten := strings.NewReplacer("-", "_", ".", "_").Replace(p.Key); !own {
			if _, ok := set[asWritten]; !ok {
				t.Errorf("%s has no column", p.Key)
			}
		}
	}
	for key := range columns {
		t.Errorf("there is no parameter %s", key)
	}
}

// CSV files show times in seconds, and each part of a parameter in a separate column.
func TestLoadCells(t *testing.T) {
	got := cellsOf(t, &readTrial(t, filledTrial).Conditions)
	for name, want := range map[string]string{
		"mix": "get linearizable 3, stm 0.5", "duration_seconds": "1.5", "warmup_seconds": "0.25", "timeout_seconds": "10", "compact_interval_seconds": "0.1",
		"distribution": "zipfian", "distribution_theta": "0.99", "stm_locker": "lock-rpc", "watchers": "14", "watching_key": "w",
		"watching_created_in_window": "true", "seed": "21", "volatile_meant": "true", "key_prefix": "a/",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, not %q", name, got[name], want)
		}
	}
}
