package analyze

import (
	"reflect"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Whatever differs in what is beside a load, or in how its operations are done,
// is refused with a sentence that names it, whichever of the two has it.
func TestSameLoadNamesWhatIsBeside(t *testing.T) {
	base := func() *record.Conditions {
		return &record.Conditions{
			Name: "put", KeySpace: 100, PageSize: 10, CompactSeconds: 3, CompactBehind: 20,
			Watching: &record.Watching{Watchers: 9, Streams: 3, Connections: 2, Keys: 4, Span: 1},
			STM:      &record.STM{Keys: 2, WritePercent: 50, Isolation: "r", Locker: "stm"},
		}
	}
	if err := SameLoad(base(), base()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*record.Conditions){
		"the watchers in put: 8 here, 9 there":                                               func(c *record.Conditions) { c.Watching.Watchers = 8 },
		"the watchers in put: none here, 9 there":                                            func(c *record.Conditions) { c.Watching = nil },
		"the watch streams in put: 1 here, 3 there":                                          func(c *record.Conditions) { c.Watching.Streams = 1 },
		"the watchers' own connections in put: none here, 2 there":                           func(c *record.Conditions) { c.Watching.Connections = 0 },
		"the watched key in put: w here, none there":                                         func(c *record.Conditions) { c.Watching.Key = "w" },
		"the watched keys in put: 100 here, 4 there":                                         func(c *record.Conditions) { c.Watching.Keys = 0 },
		"the keys that each watcher watches in put: 7 here, 1 there":                         func(c *record.Conditions) { c.Watching.Span = 7 },
		"the values before in watch events in put: true here, false there":                   func(c *record.Conditions) { c.Watching.PrevKV = true },
		"the earlier events that watchers catch up with in put: 8 here, none there":          func(c *record.Conditions) { c.Watching.Earlier = 8 },
		"the creation of watchers in the window in put: true here, false there":              func(c *record.Conditions) { c.Watching.AtWindow = true },
		"the keys of an stm transaction in put: 4 here, 2 there":                             func(c *record.Conditions) { c.STM.Keys = 4 },
		"the keys of an stm transaction in put: none here, 2 there":                          func(c *record.Conditions) { c.STM = nil },
		"the percent of an stm transaction's keys that it writes in put: 100 here, 50 there": func(c *record.Conditions) { c.STM.WritePercent = 100 },
		"the isolation of stm transactions in put: ss here, r there":                         func(c *record.Conditions) { c.STM.Isolation = "ss" },
		"the locker of stm transactions in put: lock-rpc here, stm there":                    func(c *record.Conditions) { c.STM.Locker = "lock-rpc" },
		"counting keys instead of reading them in put: true here, false there":               func(c *record.Conditions) { c.CountOnly = true },
		"reading keys without their values in put: true here, false there":                   func(c *record.Conditions) { c.KeysOnly = true },
		"reading ranges as a stream in put: true here, false there":                          func(c *record.Conditions) { c.Streamed = true },
		"the keys of a page in put: none here, 10 there":                                     func(c *record.Conditions) { c.PageSize = 0 },
		"the seconds between compactions in put: none here, 3 there":                         func(c *record.Conditions) { c.CompactSeconds = 0 },
		"the revisions that a compaction keeps in put: 1000 here, 20 there":                  func(c *record.Conditions) { c.CompactBehind = 1000 },
	} {
		now := base()
		change(now)
		err := SameLoad(now, base())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if SameLoad(base(), now) == nil {
			t.Errorf("the other way round, %q is not seen", want)
		}
		run := &record.Run{Trials: []record.Trial{{Conditions: *base()}}}
		if err := Comparable([]record.Conditions{*now}, run); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a baseline: want %q, got %v", want, err)
		}
	}
}

// Every setting of what is watched and of transactions takes part: a field that
// somebody adds must be compared, too.
func TestSameLoadComparesEverySetting(t *testing.T) {
	for _, of := range []func(*record.Conditions) reflect.Value{
		func(c *record.Conditions) reflect.Value { return reflect.ValueOf(c.Watching).Elem() },
		func(c *record.Conditions) reflect.Value { return reflect.ValueOf(c.STM).Elem() },
	} {
		whole := func() *record.Conditions {
			return &record.Conditions{Name: "put", KeySpace: 9, Watching: &record.Watching{Span: 1}, STM: &record.STM{}}
		}
		for i := range of(whole()).NumField() {
			now := whole()
			switch f := of(now).Field(i); f.Kind() {
			case reflect.String:
				f.SetString("x")
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Int:
				f.SetInt(7)
			default:
				f.SetUint(7)
			}
			if SameLoad(now, whole()) == nil {
				t.Errorf("the field %s is not compared", of(now).Type().Field(i).Name)
			}
		}
	}
}
