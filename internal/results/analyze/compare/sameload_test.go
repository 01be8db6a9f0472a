package compare

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// If two loads differ in the activities that run at the same time, or in how their operations are
// executed, SameLoad returns an error that names the difference. It does not matter which side has
// the setting.
func TestSameLoadNamesDifferences(t *testing.T) {
	base := func() *record.Conditions {
		return &record.Conditions{
			Name: "put", Load: scenario.Load{
				Mix:      []scenario.Operation{{Kind: kv.Range, Consistency: kv.Local, Weight: 1}, {Kind: kv.STM, Weight: 1}},
				KeySpace: 100, Ranges: scenario.Ranges{Scan: scenario.Scan{PageSize: 10}}, TrialOptions: scenario.TrialOptions{Compact: scenario.Compaction{Interval: 3 * time.Second, KeptRevisions: 20}},
				Watch: &scenario.Watch{Watchers: 9, Streams: 3, Connections: 2, WatchedKeys: 4, KeysPerWatcher: 1},
				STM:   &scenario.STM{KeysPerTxn: 2, WritePercent: 50, Isolation: kv.RepeatableReads},
			},
		}
	}
	if err := SameLoad(base(), base()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*record.Conditions){
		"the watchers in put: 8 here, 9 in the baseline":                                             func(c *record.Conditions) { c.Watch.Watchers = 8 },
		"the watchers in put: none here, 9 in the baseline":                                          func(c *record.Conditions) { c.Watch = nil },
		"the watch streams in put: 1 here, 3 in the baseline":                                        func(c *record.Conditions) { c.Watch.Streams = 1 },
		"the watchers' own connections in put: none here, 2 in the baseline":                         func(c *record.Conditions) { c.Watch.Connections = 0 },
		"the watched key in put: w here, none in the baseline":                                       func(c *record.Conditions) { c.Watch.Key = []byte("w") },
		"the watched keys in put: 100 here, 4 in the baseline":                                       func(c *record.Conditions) { c.Watch.WatchedKeys = 0 },
		"the keys that each watcher watches in put: 7 here, 1 in the baseline":                       func(c *record.Conditions) { c.Watch.KeysPerWatcher = 7 },
		"the previous values in watch events in put: true here, false in the baseline":               func(c *record.Conditions) { c.Watch.PrevKV = true },
		"the earlier events that watchers must receive in put: 8 here, none in the baseline":         func(c *record.Conditions) { c.Watch.EarlierEvents = 8 },
		"whether watchers are created in the window in put: true here, false in the baseline":        func(c *record.Conditions) { c.Watch.CreatedInWindow = true },
		"the number of keys per stm transaction in put: 4 here, 2 in the baseline":                   func(c *record.Conditions) { c.STM.KeysPerTxn = 4 },
		"the number of keys per stm transaction in put: none here, 2 in the baseline":                func(c *record.Conditions) { c.STM = nil },
		"the percentage of keys that an stm transaction writes in put: 100 here, 50 in the baseline": func(c *record.Conditions) { c.STM.WritePercent = 100 },
		"the isolation of stm transactions in put: ss here, r in the baseline":                       func(c *record.Conditions) { c.STM.Isolation = kv.SerializableSnapshot },
		"the locker of stm transactions in put: lock-rpc here, stm in the baseline":                  func(c *record.Conditions) { c.STM.Locker = kv.LockRPC },
		"counting keys instead of reading them in put: true here, false in the baseline":             func(c *record.Conditions) { c.Scan.CountOnly = true },
		"reading keys without their values in put: true here, false in the baseline":                 func(c *record.Conditions) { c.Scan.KeysOnly = true },
		"reading ranges as a stream in put: true here, false in the baseline":                        func(c *record.Conditions) { c.Scan.Streamed = true },
		"the number of keys per page in put: none here, 10 in the baseline":                          func(c *record.Conditions) { c.Scan.PageSize = 0 },
		"the time between compactions in put: none here, 3s in the baseline":                         func(c *record.Conditions) { c.Compact.Interval = 0 },
		"the revisions that a compaction keeps in put: 1000 here, 20 in the baseline":                func(c *record.Conditions) { c.Compact.KeptRevisions = 1000 },
	} {
		now := base()
		change(now)
		err := SameLoad(now, base())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if SameLoad(base(), now) == nil {
			t.Errorf("with the two sides swapped, SameLoad does not report the difference %q", want)
		}
	}
}

// Every setting of watches and transactions is compared, so that a new field cannot be forgotten.
func TestSameLoadComparesEverySetting(t *testing.T) {
	for _, of := range []func(*record.Conditions) reflect.Value{
		func(c *record.Conditions) reflect.Value { return reflect.ValueOf(c.Watch).Elem() },
		func(c *record.Conditions) reflect.Value { return reflect.ValueOf(c.STM).Elem() },
	} {
		whole := func() *record.Conditions {
			return &record.Conditions{Name: "put", Load: scenario.Load{
				Mix: []scenario.Operation{{Kind: kv.STM, Weight: 1}}, KeySpace: 9, Watch: &scenario.Watch{KeysPerWatcher: 1}, STM: &scenario.STM{},
			}}
		}
		for i := range of(whole()).NumField() {
			now := whole()
			switch f := of(now).Field(i); f.Kind() {
			case reflect.Slice:
				f.SetBytes([]byte("x"))
			case reflect.String:
				f.SetString("x")
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Int:
				f.SetInt(7)
			case reflect.Int64: // Start, whose value is known only during the run
				continue
			case reflect.Uint8:
				f.SetUint(2)
			default:
				f.SetUint(7)
			}
			if SameLoad(now, whole()) == nil {
				t.Errorf("the field %s is not compared", of(now).Type().Field(i).Name)
			}
		}
	}
}
