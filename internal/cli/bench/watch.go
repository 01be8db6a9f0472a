package bench

import (
	"strconv"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

func (f *options) registerWatch(r command.Flags) {
	f.watch = watchFlags{streams: 10, perStream: 100, keys: 1}
	r.Int("streams", &f.watch.streams, "number of watch streams")
	r.Int("watch-per-stream", &f.watch.perStream, "number of watchers on each stream")
	r.Int("watched-key-total", &f.watch.keys, "number of watched keys, which are written in turn; at most --key-space-size")
	r.Toggle("sequential-keys", &f.sequential, "has no effect: the watched keys are always the first of the key space")
}

// fillWatch makes the key space as small as the number of watched keys, and sets the number of
// watchers.
func (f *options) fillWatch([]string) error {
	w := &f.watch
	if w.keys < 1 {
		return command.Usage("--watched-key-total must be at least 1, not %d", w.keys)
	}
	if n, err := command.ParseInt(f.text("key-space")); !f.preset.IsGiven("key-space") || err == nil && n > w.keys {
		f.mustSet("key-space", strconv.Itoa(w.keys))
	}
	return f.setStreams("--watch-per-stream")
}

// setStreams sets the number of streams and the total number of watchers. The parameter `flag` is
// the name of the flag that sets the number of watchers per stream. Error messages contain this
// name.
func (f *options) setStreams(flag string) error {
	w := &f.watch
	switch {
	case w.streams < 1 || w.streams > scenario.MaxWatchers:
		return command.Usage("--streams is %d, but must be from 1 to %d", w.streams, scenario.MaxWatchers)
	case w.perStream < 1 || w.perStream > scenario.MaxWatchers/w.streams:
		return command.Usage("%s is %d, but must be from 1 to %d because there are %d streams", flag, w.perStream, scenario.MaxWatchers/w.streams, w.streams)
	}
	f.mustSet("watch.watchers", strconv.Itoa(w.streams*w.perStream))
	f.mustSet("watch.streams", strconv.Itoa(w.streams))
	return nil
}

// catchUpKey is the part after the prefix in the key that the watchers of `watch-get` watch.
const catchUpKey = "watchkey"

// fillWatchGet sets the watched key, and adds one client that reads on a separate connection.
func (f *options) fillWatchGet([]string) error {
	f.preset.SetDerived("watch.key", f.text("prefix")+catchUpKey)
	streams, err := command.ParseInt(f.text("watch.streams"))
	if err != nil {
		return command.Usage("--streams: %w", err)
	}
	f.preset.SetDerived("clients", "1")
	return f.separateConnections(streams)
}

// separateConnections gives the watchers separate connections, and all operations a single
// connection.
func (f *options) separateConnections(streams int) error {
	if f.conns < 1 || f.conns > scenario.MaxConnections {
		return command.Usage("--conns is %d, but must be from 1 to %d", f.conns, scenario.MaxConnections)
	}
	f.preset.SetDerived("watch.connections", strconv.Itoa(min(f.conns, streams)))
	f.preset.SetDerived("connections", "1")
	return nil
}

func (f *options) registerWatchLatency(r command.Flags) {
	f.watch = watchFlags{streams: 10, perStream: 10}
	r.Int("streams", &f.watch.streams, "number of watch streams")
	r.Int("watchers-per-stream", &f.watch.perStream, "number of watchers on each stream")
}

func (f *options) fillWatchLatency([]string) error {
	if err := f.setStreams("--watchers-per-stream"); err != nil {
		return err
	}
	if !f.isZero("rate") {
		f.preset.SetDerived("clients", "1")
	}
	return f.separateConnections(f.watch.streams)
}
