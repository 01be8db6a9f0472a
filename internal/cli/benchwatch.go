package cli

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// watchFlags are those of the commands with watchers.
type watchFlags struct {
	streams   int
	perStream int
	keys      int64 // watched
	watchers  int   // in total: watch-get
	events    int   // that they catch up with
	prevKV    bool
}

const (
	// watchSize is the default size in bytes of watched keys and values.
	watchSize = 32
	// maxWatchers and maxWatchEvents bound what one command may ask for.
	maxWatchers    = scenario.MaxWatchers
	maxWatchEvents = 1_000_000
	// catchUp is how long `watch-get` waits at most unless --duration says.
	catchUp = 5 * time.Minute
	// catchUpKey is the key that its watchers watch, after the prefix.
	catchUpKey = "watchkey"
)

// watchKinds are the commands with watchers.
func watchKinds() []benchKind {
	renamed := []string{"--total", "--put-total", "--rate", "--put-rate"}
	return []benchKind{
		{
			name: "watch", short: "Write watched keys, and time the events that their watchers get",
			kinds: []kv.Kind{kv.Put}, distribution: scenario.Sequential, keySize: watchSize, valueSize: watchSize, total: 1000,
			flags: (*benchFlags).registerWatch, fill: (*benchFlags).fillWatch, watches: true, renamed: renamed,
			sections: report.Classic{
				Created: &report.Section{Heading: "Watch creation summary:", Label: "make"},
				Events:  &report.Section{Heading: "Watch events received summary:", Label: "put"},
			},
		},
		{
			name: "watch-get", short: "Read a key while watchers catch up with earlier events of another",
			kinds: []kv.Kind{kv.Get}, distribution: scenario.Sequential, valueSize: watchSize,
			flags: (*benchFlags).registerWatchGet, fill: (*benchFlags).fillWatchGet, watches: true,
			sections: report.Classic{Operations: &report.Section{Heading: "Get during watch summary:"}},
		},
		{
			name: "watch-latency", short: "Time the events of one key's writes, from when each was due and sent to its arrival at each watcher",
			kinds: []kv.Kind{kv.Put}, distribution: scenario.Sequential, keySize: watchSize, valueSize: watchSize, total: 1000, rate: 100,
			flags: (*benchFlags).registerWatchLatency, fill: (*benchFlags).fillWatchLatency, watches: true, renamed: renamed,
			sections: report.Classic{
				Operations: &report.Section{Heading: "Put summary:", Label: "put"},
				Events:     &report.Section{Heading: "Watch events summary:", Label: "watch"},
			},
		},
	}
}

func (f *benchFlags) registerWatch(r flags) {
	w := &f.watch
	*w = watchFlags{streams: 10, perStream: 100, keys: 1}
	r.whole("streams", &w.streams, "watch streams")
	r.whole("watch-per-stream", &w.perStream, "watchers on each stream")
	r.long("watched-key-total", &w.keys, "keys that are watched, and written in turn")
	r.size("key-size", &f.load.KeySize, "bytes of a key, after its prefix")
	r.long("key-space-size", &f.keySpace, "how many keys there are: no more are watched; as many as watched unless given")
	r.toggle("sequential-keys", &f.sequential, "no matter: the watched keys are always the first of the key space")
	r.text("prefix", &f.load.Prefix, "TEXT", "what every key begins with")
}

func (f *benchFlags) fillWatch(l *scenario.Load, _ []string) error {
	w := &f.watch
	if w.keys < 1 {
		return usage("--watched-key-total must be at least 1, not %d", w.keys)
	}
	watchers, err := w.onStreams("--watch-per-stream")
	if err != nil {
		return err
	}
	if keys := uint64(w.keys); l.KeySpace == 0 || keys < l.KeySpace {
		l.KeySpace = keys
	}
	l.Watch = &scenario.Watch{Watchers: watchers, Streams: w.streams}
	return nil
}

// onStreams is how many watchers so many on each stream are.
func (w *watchFlags) onStreams(flag string) (int, error) {
	switch {
	case w.streams < 1 || w.streams > maxWatchers:
		return 0, usage("--streams is %d and must be from 1 to %d", w.streams, maxWatchers)
	case w.perStream < 1 || w.perStream > maxWatchers/w.streams:
		return 0, usage("%s is %d and must be from 1 to %d, with %d streams", flag, w.perStream, maxWatchers/w.streams, w.streams)
	}
	return w.streams * w.perStream, nil
}

func (f *benchFlags) registerWatchGet(r flags) {
	w := &f.watch
	*w = watchFlags{streams: 1, watchers: 10_000, events: 8}
	r.whole("watchers", &w.watchers, "watchers in total")
	r.whole("streams", &w.streams, "watch streams")
	r.whole("events", &w.events, "earlier events that each watcher is to get")
	r.text("prefix", &f.load.Prefix, "TEXT", "what every key begins with")
}

// fillWatchGet: one client reads on a connection of its own, as long as the
// watchers have not caught up.
func (f *benchFlags) fillWatchGet(l *scenario.Load, _ []string) error {
	w := &f.watch
	switch {
	case w.watchers < 1 || w.watchers > maxWatchers:
		return usage("--watchers is %d and must be from 1 to %d", w.watchers, maxWatchers)
	case w.streams < 1 || w.streams > w.watchers:
		return usage("--streams is %d and must be from 1 to the number of watchers, %d", w.streams, w.watchers)
	case w.events < 1 || w.events > maxWatchEvents:
		return usage("--events is %d and must be from 1 to %d", w.events, maxWatchEvents)
	}
	own, err := f.ownConnections()
	if err != nil {
		return err
	}
	l.Mix[0].Consistency = kv.Local
	l.Connections, l.Clients, l.KeySpace, l.Preload = 1, 1, 1, true
	if l.Total = 0; !f.given("duration") {
		l.Duration = catchUp
	}
	l.Watch = &scenario.Watch{
		Watchers: w.watchers, Streams: w.streams, Connections: own,
		Key: []byte(l.Prefix + catchUpKey), Expect: uint32(w.events), AtWindow: true,
	}
	return nil
}

// ownConnections is how many connections are for watchers alone.
func (f *benchFlags) ownConnections() (int, error) {
	if f.conns < 1 || f.conns > scenario.MaxConnections {
		return 0, usage("--conns is %d and must be from 1 to %d", f.conns, scenario.MaxConnections)
	}
	return min(f.conns, f.watch.streams), nil
}

func (f *benchFlags) registerWatchLatency(r flags) {
	w := &f.watch
	*w = watchFlags{streams: 10, perStream: 10}
	r.whole("streams", &w.streams, "watch streams")
	r.whole("watchers-per-stream", &w.perStream, "watchers on each stream")
	r.toggle("prevkv", &w.prevKV, "events carry the value before, too")
	r.size("key-size", &f.load.KeySize, "bytes of the key, after its prefix")
	r.size("val-size", &f.load.ValueSize, "bytes of a value, at least 16")
	r.text("prefix", &f.load.Prefix, "TEXT", "what the key begins with")
}

// fillWatchLatency: all write and watch one key, the watchers on connections of
// their own.
func (f *benchFlags) fillWatchLatency(l *scenario.Load, _ []string) error {
	w := &f.watch
	watchers, err := w.onStreams("--watchers-per-stream")
	if err != nil {
		return err
	}
	if l.ValueSize < verdict.MinUniqueSize {
		return usage("--val-size is %d, and an event tells which write it is of by its value, for which %d bytes are needed", l.ValueSize, verdict.MinUniqueSize)
	}
	own, err := f.ownConnections()
	if err != nil {
		return err
	}
	l.KeySpace, l.Connections = 1, 1
	if l.Arrival != scenario.Closed {
		l.Clients = 1
	}
	l.Watch = &scenario.Watch{Watchers: watchers, Streams: w.streams, Connections: own, PrevKV: w.prevKV}
	return nil
}
