package scenario

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

func TestWatchKeys(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  *Watch
	}{
		"nothing":   {[]string{"operation: put"}, nil},
		"taken off": {[]string{"operation: put", "watch: none"}, nil},
		"least":     {[]string{"operation: put", "watch: {watchers: 5}"}, &Watch{Watchers: 5, Streams: 1}},
		"most": {[]string{"operation: put", "watch: {watchers: 40, streams: 8, connections: 4, watched-keys: 9, keys-per-watcher: 2, prev-kv: true}"},
			&Watch{Watchers: 40, Streams: 8, Connections: 4, WatchedKeys: 9, KeysPerWatcher: 2, PrevKV: true}},
		"everything": {[]string{"operation: put", "key-space: 300", "watch: {watchers: 3, keys-per-watcher: all}"},
			&Watch{Watchers: 3, Streams: 1, WatchedKeys: 1, KeysPerWatcher: 300}},
		"catching up": {[]string{"operation: get", "watch: {key: w, watchers: 5, earlier-events: 3}"},
			&Watch{Watchers: 5, Streams: 1, Key: []byte("w"), EarlierEvents: 3, CreatedInWindow: true}},
		"idle": {[]string{"operation: get", "watch: {key: w, watchers: 5, created-in-window: true}"},
			&Watch{Watchers: 5, Streams: 1, Key: []byte("w"), CreatedInWindow: true}},
		"no longer than the key space": {[]string{"operation: put", "key-space: 10", "watch: {watchers: 400_000, keys-per-watcher: 100}"},
			&Watch{Watchers: 400_000, Streams: 1, KeysPerWatcher: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings := parseTrial(t, c.lines...)
			if diff := cmp.Diff(c.want, got.Load.Watch); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if idle := name == "idle"; idle != (len(warnings) == 1) || idle && !strings.Contains(warnings[0], `nothing writes the watched key "w"`) {
				t.Errorf("the warnings are %q", warnings)
			}
		})
	}
	for line, want := range map[string]string{
		"operation: get":           "the load does not write",
		"mix: {put: 1, delete: 1}": "watch events for deletes have no value",
	} {
		if _, warnings := parseTrial(t, line, "watch: {watchers: 2}"); len(warnings) != 1 || !strings.Contains(warnings[0], want) {
			t.Errorf("%s warns %q", line, warnings)
		}
	}
}

// The values of watched keys must be large enough to make each event unique.
func TestLeastWatchedValue(t *testing.T) {
	if minWatchedValueSize != verdict.MinUniqueSize {
		t.Errorf("unique values need %d bytes, but the minimum for watched values is %d bytes", verdict.MinUniqueSize, minWatchedValueSize)
	}
}

func TestWatchInMatrixAndDefaults(t *testing.T) {
	s := parse(t, "f.yaml", `
defaults: {store: etcd, operation: put, watch: {watchers: 7, streams: 7, prev-kv: true}}
trials:
  - name: default
  - {name: own, watch: {watchers: 2}}
  - {name: off, watch: none}
  - name: with-{watch}
    matrix: {watch: [none, {watchers: 10}, {watchers: 10, streams: 2}]}
`)
	want := map[string]*Watch{
		"default": {Watchers: 7, Streams: 7, PrevKV: true}, "own": {Watchers: 2, Streams: 1}, "off": nil,
		"with-none": nil, "with-watchers=10": {Watchers: 10, Streams: 1}, "with-watchers=10+streams=2": {Watchers: 10, Streams: 2},
	}
	got := map[string]*Watch{}
	for i := range s.Trials {
		got[s.Trials[i].Name] = s.Trials[i].Load.Watch
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lines := strings.Join(s.Lines(), "\n"); !strings.Contains(lines, "window        watchers\n") || !strings.Contains(lines, "10 on 2 streams") || !strings.Contains(lines, "none") {
		t.Errorf("the plan is\n%s", lines)
	}
	caught := parse(t, "f.yaml", "trials: [{store: etcd, operation: get, watch: {key: w, watchers: 5, earlier-events: 3}}]")
	if lines := caught.Lines(); !strings.Contains(lines[1], "until caught up, at most 10s after 2s") {
		t.Errorf("the plan is %q", lines[1])
	}
}

// A scaled trial with watchers or transactions stays valid, and its watched keys stay within its
// key space.
func TestScaledWatchersStayWithinTheirKeys(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		total, watchers := 1+r.IntN(100_000), 1+r.IntN(20)
		watched, span := 1+r.IntN(total), fmt.Sprint(1+r.IntN(500))
		file := fmt.Sprintf(`
defaults: {store: etcd, total: %d}
trials:
  - {name: some, operation: put, watch: {watchers: %d, watched-keys: %d, keys-per-watcher: %s}}
  - {name: all, operation: put, watch: {watchers: %d, keys-per-watcher: all}}
  - {name: stm, operation: stm, stm: {keys: %d}}
`, total, watchers, watched, span, watchers, 1+r.IntN(min(total, maxSTMKeys)))
		for _, factor := range []float64{0, 0.0001, r.Float64(), 1, 1 + r.Float64()} {
			s, err := Parse("f.yaml", []byte(file), shelf{}, Options{Scale: factor})
			if err != nil {
				t.Fatalf("scaled by %v: %v\n%s", factor, err, file)
			}
			all := trial(t, s, "all").Load
			if all.Watch.KeysPerWatcher != all.KeySpace || all.Watch.WatchedKeys != 1 {
				t.Fatalf("the watch of all of %d keys is %+v", all.KeySpace, all.Watch)
			}
			if some := trial(t, s, "some").Load; some.Watch.Watchers != watchers || some.Watch.WatchedKeys > some.KeySpace {
				t.Fatalf("the watch of some of %d keys is %+v", some.KeySpace, some.Watch)
			}
			for i := range s.Trials {
				if err := s.Trials[i].Load.wrong(); err != nil {
					t.Fatalf("%s scaled by %v: %v", s.Trials[i].Name, factor, err)
				}
			}
		}
	}
}

func TestSTMKeys(t *testing.T) {
	got, warnings := parseTrial(t, "operation: stm", "key-space: 9", "stm: {keys: 4, write-percent: 100, isolation: ss, locker: lock-rpc}")
	want := &STM{Isolation: kv.SerializableSnapshot, KeysPerTxn: 4, WritePercent: 100, Locker: kv.LockRPC}
	if diff := cmp.Diff(want, got.Load.STM); diff != "" || len(warnings)+len(got.Notes) != 0 {
		t.Errorf("(-want +got):\n%s%q %q", diff, warnings, got.Notes)
	}
	// As in etcd's benchmark, no transaction writes: half of one key rounds down to no keys.
	plain, _ := parseTrial(t, "operation: stm")
	if plain.Load.STM == nil || *plain.Load.STM != DefaultSTM() || len(plain.Notes) != 1 || plain.Notes[0] != "Transactions do not write: 50 percent (stm.write-percent) of 1 key (stm.keys) is less than one key." {
		t.Errorf("by default %+v, %q", plain.Load.STM, plain.Notes)
	}
	if part, _ := parseTrial(t, "operation: stm", "stm: {keys: 2}"); part.Load.STM.WritePercent != 50 || part.Load.STM.Isolation != kv.RepeatableReads || len(part.Notes) != 0 {
		t.Errorf("two keys: %+v, %q", part.Load.STM, part.Notes)
	}
	s := parse(t, "f.yaml", "defaults: {store: etcd, stm: {keys: 2}}\ntrials: [{operation: put}, {name: '{operation}-{stm}', operation: stm, matrix: {stm: [{locker: stm}, {locker: lock-client}]}}]")
	if diff := cmp.Diff([]string{"put", "stm-locker=lock-client", "stm-locker=stm"}, names(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, trial := range s.Trials {
		if stm := trial.Load.STM; (trial.Name == "put") != (stm == nil) {
			t.Errorf("the trial %s has the STM settings %+v", trial.Name, stm)
		}
	}
}

// A lease load has no keys, so the preload writes none unless the user requests it.
func TestKeepAliveIsNotPreloaded(t *testing.T) {
	for line, want := range map[string]bool{"operation: keepalive": false, "operation: keepalive\n    preload: true": true, "mix: {keepalive: 1, put: 1}": true, "mix: {txn-get: 1, txn: 1}\n    range-key: a": true} {
		if got, _ := parseTrial(t, line); got.Load.Preload != want {
			t.Errorf("%q: preload %t", line, got.Load.Preload)
		}
	}
}

// plain is a shelf whose etcd only supports watches that start at the current revision.
type plain struct{ shelf }

func (plain) Capabilities(store string) kv.Capabilities {
	can := shelf{}.Capabilities(store)
	can.Watches = kv.Watches{Modes: map[kv.WatchMode]string{kv.OnceWatch: "once", kv.PersistentWatch: "staying"}, Default: kv.PersistentWatch, SharedByKey: true}
	return can
}

// Unsupported modes and features of watches are refused, each with a one-sentence error. Watchers
// that share a watch at the server are reported.
func TestWatchModes(t *testing.T) {
	for watch, want := range map[string]string{
		"{watchers: 2, mode: stream}":                          "f.yaml:1:64: watch.mode is not supported by this store: etcd does not support the watch mode \"stream\"; it supports once (once) and persistent (staying)",
		"{watchers: 2, mode: once, keys-per-watcher: 3}":       "watch.keys-per-watcher cannot be combined with watch.mode \"once\", in which each watcher watches only one key",
		"{watchers: 2, prev-kv: true}":                         "watch.prev-kv is not supported by this store: watch events from etcd do not contain the previous value",
		"{watchers: 2, key: w, earlier-events: 3}":             "watch.earlier-events is not supported by this store: a watcher of etcd receives only events that occur after the watcher is created",
		"{watchers: 2, mode: often}":                           `there is no watch mode "often"; choose one of stream, once, persistent or query`,
		"{watchers: 2, mode: once}":                            "",
		"{watchers: 2, mode: persistent, keys-per-watcher: 3}": "",
	} {
		text := "trials: [{store: etcd, operation: put, duration: 10s, watch: " + watch + "}]"
		_, err := Parse("f.yaml", []byte(text), plain{}, Options{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(want, "f.yaml:1:64: "))) {
			t.Errorf("%s: %v, want %s", watch, err, want)
		}
	}
	for watch, apart := range map[string]int{
		"{watchers: 100, streams: 10, connections: 5, watched-keys: 2}":     10,
		"{watchers: 100, streams: 10, connections: 5, keys-per-watcher: 2}": 5,
		"{watchers: 10, streams: 10, connections: 5, watched-keys: 2}":      0,
	} {
		s, err := Parse("f.yaml", []byte("trials: [{store: etcd, operation: put, duration: 10s, watch: "+watch+"}]"), plain{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		reported := strings.Contains(fmt.Sprint(s.Warnings), fmt.Sprintf("at most %d watches for", apart))
		if reported != (apart > 0) || !reported && len(s.Warnings) > 0 || strings.Contains(fmt.Sprint(s.Warnings), "<") {
			t.Errorf("%s warns %q", watch, s.Warnings)
		}
	}
}

// narrow is a catalog of stores whose connections allow only one operation in flight.
type narrow struct{ shelf }

func (narrow) Capabilities(store string) kv.Capabilities {
	can := shelf{}.Capabilities(store)
	can.MaxInFlight = 1
	return can
}

// If a watcher occupies its connection, no other watcher can be created on that connection. So each
// watcher has its own connection.
func TestWatchersHaveTheirOwnConnections(t *testing.T) {
	text := []byte("trials: [{store: etcd, operation: put, duration: 10s, watch: {watchers: 10, streams: 2}}]")
	for _, tc := range []struct {
		catalog Catalog
		want    Watch
	}{{narrow{}, Watch{Watchers: 10, Streams: 10, Connections: 10}}, {shelf{}, Watch{Watchers: 10, Streams: 2}}} {
		s, err := Parse("f.yaml", text, tc.catalog, Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := s.Trials[0].Load.Watch
		if got := (Watch{Watchers: w.Watchers, Streams: w.Streams, Connections: w.Connections}); !cmp.Equal(got, tc.want) {
			t.Errorf("%+v, want %+v", got, tc.want)
		}
	}
}
