package scenario

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Upper limits for watchers.
const (
	MaxWatchers = maxWatched
	// maxWatched limits the number of watchers times the keys per watcher. The generator stores a
	// state for each combination of a watcher and a key.
	maxWatched = 4 << 20
	// maxEarlierEvents limits the number of earlier events per watcher and key.
	maxEarlierEvents = 1_000_000
	// minWatchedValueSize is the smallest size, in bytes, of a value that can identify its write.
	minWatchedValueSize = 16
)

// noWatch is the value with which a trial removes the watchers that defaults specify.
const noWatch = "none"

// setWatch reads the mapping that describes the watchers during the load.
func setWatch(d *draft, key string, n *file.Node) error {
	d.load.Watch = nil
	if n.Kind == file.Scalar && n.Text == noWatch {
		return nil
	}
	if n.Kind != file.Mapping {
		return n.Pos.Errorf("watch must be a mapping, for example {watchers: 100}, or the word none, not %s", n.Describe())
	}
	w := &Watch{Streams: 1}
	d.load.Watch = w
	switch err := readEntries(d, key, n); {
	case err != nil:
		return err
	case n.Field("watchers") == n && !n.FromFlag:
		return n.Pos.Errorf("watch needs the key \"watchers\", for example {watchers: 100}")
	case n.Field("created-in-window") == n:
		w.CreatedInWindow = w.EarlierEvents > 0
	}
	return nil
}

// checkWatchKey rejects a given watched key that may equal a key of the load.
func (b *builder) checkWatchKey() {
	w := b.load.Watch
	if w != nil && b.givenLayer.hasKey("watch") && len(w.Key) == len(b.load.Prefix)+b.load.KeySize && strings.HasPrefix(string(w.Key), b.load.Prefix) {
		b.failf(b.keyPosition("watch.key"), "<watch.key> %q may equal a key of the load (its keys are %s); give the watched key another length", w.Key, b.load.describeKeys())
	}
}

// describeKeys describes the keys of the load.
func (l *Load) describeKeys() string {
	size := text.Plural(uint64(max(l.KeySize, 0)), "byte")
	switch {
	case l.Prefix == "":
		return size + " long"
	case l.KeySize == 0:
		return fmt.Sprintf("%q", l.Prefix)
	}
	return fmt.Sprintf("%q and %s", l.Prefix, size)
}

func (l *Load) checkWatch(c *checks) {
	w := l.Watch
	if w == nil {
		return
	}
	if !c.hasProblem("watch.watchers", "watch.streams", "watch.connections") {
		w.checkCounts(c)
	}
	if len(w.Key) > 0 {
		w.checkKey(c)
	} else {
		l.checkWatchedKeys(c)
	}
	if w.EarlierEvents > 0 && l.Total > 0 {
		c.add("total", "with <watch.earlier-events>, the window closes when the watchers have caught up; to limit the time, give <duration> instead of <total>")
	}
	if l.NewConnection {
		c.add("new-connection", "watchers need connections that stay open, but <new-connection> opens one for each operation; remove one of the two")
	}
	if l.hasKind(isSTM) {
		c.add("watch", "watchers cannot be combined with stm, because it is not known which keys a transaction wrote; remove the watchers")
	}
}

func (w *Watch) checkCounts(c *checks) {
	if w.Streams > w.Watchers {
		c.add("watch.streams", "<watch.streams> is %d, but there %s; each stream needs at least one watcher", w.Streams, countedWatchers(w.Watchers))
	} else if w.Connections > w.Streams {
		c.add("watch.connections", "<watch.connections> is %d, but <watch.streams> is %d, and a stream uses only one connection; use fewer connections", w.Connections, w.Streams)
	}
}

// WatchersPerKey returns the average number of watchers per watched key, rounded up. This is the
// number of events that a write causes. It returns 0 if the load has no watchers.
func (l *Load) WatchersPerKey() uint64 {
	w := l.Watch
	if w == nil || w.Watchers <= 0 {
		return 0
	}
	keys, span, watchers := max(l.KeySpace, 1), max(w.KeysPerWatcher, 1), uint64(w.Watchers)
	span = min(span, keys)
	first := min(cmp.Or(w.WatchedKeys, keys), keys, watchers) // number of keys at which a watcher starts
	if len(w.Key) > 0 {
		return watchers
	}
	watched := min(first-1+span, keys)
	return (watchers*span + watched - 1) / watched
}

func countedWatchers(n int) string {
	if n == 1 {
		return "is 1 watcher"
	}
	return fmt.Sprintf("are %d watchers", n)
}

// checkKey checks watchers that all watch one given key.
func (w *Watch) checkKey(c *checks) {
	for _, of := range []struct {
		key   string
		given bool
	}{{"watch.watched-keys", w.WatchedKeys > 0}, {"watch.keys-per-watcher", w.KeysPerWatcher > 1}} {
		if of.given {
			c.add(of.key, "if <watch.key> is set, all watchers watch only that key, so <"+of.key+"> has no effect; remove one of the two")
		}
	}
	if w.EarlierEvents > 0 && !w.CreatedInWindow {
		c.add("watch.created-in-window", "with <watch.earlier-events>, watchers are always created in the window; remove <watch.created-in-window>")
	}
}

// checkWatchedKeys checks watchers that watch keys of the load.
func (l *Load) checkWatchedKeys(c *checks) {
	w := l.Watch
	switch {
	case w.EarlierEvents > 0 && w.StartRevision == 0:
		c.add("watch.earlier-events", "<watch.earlier-events> needs <watch.key>, the key that is written before the load to cause the earlier events")
	case w.CreatedInWindow && w.StartRevision == 0:
		c.add("watch.created-in-window", "<watch.created-in-window> needs a <watch.key>: for the load's own keys, events before the watchers exist would be counted as lost")
	}
	if w.KeysPerWatcher == wholeKeySpace {
		c.add("watch.keys-per-watcher", "with <watch.keys-per-watcher>: all, each watcher watches the whole key space, so <watch.watched-keys> has no effect; remove one of the two")
	} else if w.WatchedKeys > l.KeySpace {
		c.add("watch.watched-keys", "<watch.watched-keys> is %d, but the key space has only %s", w.WatchedKeys, text.Plural(l.KeySpace, "key"))
	} else if span := min(max(w.KeysPerWatcher, 1), l.KeySpace); w.Watchers > 0 && w.Watchers <= MaxWatchers && span > maxWatched/uint64(w.Watchers) {
		c.add("watch.keys-per-watcher", "%d watchers with %s each are too many to check; watchers times keys per watcher must be at most %d", w.Watchers, text.Plural(span, "key"), maxWatched)
	}
	if l.hasKind(kv.Kind.Writes) && l.ValueSize < minWatchedValueSize {
		c.add("value-size", "<value-size> is %d B, but at least %d bytes are needed to match watch events with writes by their values", l.ValueSize, minWatchedValueSize)
	}
}

// watchWarnings returns sentences about settings of watchers that are probably not intended.
func (l *Load) watchWarnings() (out []string) {
	w := l.Watch
	switch {
	case w == nil || l.Application.Name != "":
	case w.EarlierEvents > 0:
	case len(w.Key) > 0:
		out = append(out, fmt.Sprintf("nothing writes the watched key %q, so watchers will receive no events", w.Key))
	case !l.hasKind(kv.Kind.Writes):
		out = append(out, "the load does not write, so watchers will receive no events")
	case w.Mode != kv.PersistentWatch && l.hasKind(func(k kv.Kind) bool { return k == kv.Delete }):
		out = append(out, "watch events for deletes have no value, so they are counted but their latency is not measured")
	}
	return out
}

// sharedWarnings warns if watchers on the same connection share one watch, so that the server has
// fewer watches than the load has watchers.
func (l *Load) sharedWarnings(watches *kv.Watches) []string {
	w := l.Watch
	if w == nil || !watches.SharedByKey || l.Application.Name != "" {
		return nil
	}
	conns, keys := uint64(w.Connections), w.WatchedKeys
	if conns == 0 {
		conns = uint64(l.Connections)
	}
	conns = min(conns, uint64(w.Streams)) // a stream uses one connection
	switch {
	case len(w.Key) > 0 || w.KeysPerWatcher > 1:
		keys = 1
	case keys == 0:
		keys = l.KeySpace
	}
	if most := conns * min(keys, maxWatched); uint64(w.Watchers) > most {
		return []string{fmt.Sprintf("the server has at most %[2]d watches for %[1]s, because all watchers of the same key or folder on one connection share a watch; use more <watch.connections> and <watch.streams>",
			text.Plural(uint64(w.Watchers), "watcher"), most)}
	}
	return nil
}

// watchLabel describes the watchers for a dry run.
func (l *Load) watchLabel() string {
	w := l.Watch
	if w == nil {
		return ""
	}
	return fmt.Sprintf("%s on %s", text.Count(uint64(max(w.Watchers, 0))), text.Plural(uint64(max(w.Streams, 0)), "stream"))
}
