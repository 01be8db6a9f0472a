package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// A load with impossible settings of watchers or transactions is refused before a worker receives
// the load. The error is one sentence.
func TestWatchIsRefused(t *testing.T) {
	stm := func(of STM) func(*Load) {
		return func(l *Load) { l.Watch, l.STM, l.Mix[0].Kind = nil, &of, kv.STM }
	}
	for want, change := range map[string]func(*Load){
		"each stream needs":            func(l *Load) { l.Watch.Streams = 11 },
		"16 bytes are needed":          func(l *Load) { l.ValueSize = 15 },
		"with stm":                     func(l *Load) { l.Mix[0].Kind = kv.STM },
		"connections that stay":        func(l *Load) { l.NewConnection = true },
		"the key space has only":       func(l *Load) { l.Watch.WatchedKeys = 1001 },
		"watch cannot be an operation": func(l *Load) { l.Mix[0].Kind = kv.Watch },
		"watchers is 0":                func(l *Load) { l.Watch.Watchers = 0 },
		"earlier-events needs":         func(l *Load) { l.Watch.EarlierEvents = 1 },
		"are too many to check":        func(l *Load) { l.KeySpace = 1 << 22; l.Watch.KeysPerWatcher = 1 << 20 },
		"has no effect":                func(l *Load) { l.Watch.Key, l.Watch.KeysPerWatcher = []byte("k"), 2 },
		"the locker does not exist":    stm(STM{KeysPerTxn: 1, Locker: kv.NumLockers}),
		"stm.keys is 0":                stm(STM{WritePercent: 1}),
		"key space has only":           stm(STM{KeysPerTxn: 1001}),
		"write-percent is 101":         stm(STM{KeysPerTxn: 1, WritePercent: 101}),
	} {
		l := Load{
			Mix: []Operation{{Kind: kv.Put, Weight: 1}}, Connections: 10, Clients: 100, Arrival: Constant, Rate: Rate{PerSecond: 100}, Duration: time.Second,
			KeySize: 8, ValueSize: 64, KeySpace: 1000, Distribution: Distribution{Name: "uniform"}, Timeout: time.Minute, MaxInFlight: 100_000, Seed: 1,
		}
		l.Watch = &Watch{Watchers: 10, Streams: 10}
		change(&l)
		l.Complete()
		found := l.problems(keyNamer{}, Apps())
		if len(found) == 0 || !strings.Contains(found[0].Error(), want) {
			t.Errorf("want a sentence with %q: %v", want, found)
		}
	}
}
