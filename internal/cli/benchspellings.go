package cli

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Bounds of an interval that holds every key of a load, and nearly every other.
const (
	firstOfAll = "\x00"
	afterAll   = "\xff"
)

func (f *benchFlags) registerRange(r flags) {
	r.toggle("prefix", &f.prefix, "all keys that begin with KEY; without KEY all there are")
}

// fillRange settles what `range` reads.
func (f *benchFlags) fillRange(args []string) error {
	if f.prefix && len(args) > 1 {
		return usage("--prefix reads all keys that begin with KEY, and END %q bounds them, too; give one of them", args[1])
	}
	if len(args) == 0 {
		if !f.prefix {
			return usage("bench range needs %s", f.kind.takes)
		}
		f.put("range-key", firstOfAll)
		f.put("range-end", afterAll)
		return nil
	}
	f.put("range-key", args[0])
	switch {
	case len(args) > 1:
		f.put("range-end", args[1])
	case f.prefix:
		end := prefixEnd(args[0])
		if end == "" {
			return usage("no key follows those that begin with %q, so they cannot be told from the rest", args[0])
		}
		f.put("range-end", end)
	}
	return nil
}

// prefixEnd is the first key behind all that begin with the prefix; empty if
// there is none.
func prefixEnd(prefix string) string {
	end := []byte(prefix)
	for i, b := range slices.Backward(end) {
		if b < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return ""
}

func (f *benchFlags) registerMixed(r flags) {
	r.number("put-weight", &f.putWeight, "W", "share of puts, relative to the other weight")
	r.number("get-weight", &f.getWeight, "W", "share of gets, relative to the other weight")
}

func (f *benchFlags) fillMixed([]string) error {
	put, get := f.putWeight, f.getWeight
	switch {
	case !f.given("put-weight") && !f.given("get-weight"):
		return nil
	case f.command.Given("mix"):
		return usage("--mix has all weights, so --put-weight and --get-weight mean nothing; drop them")
	case put < 0 || get < 0:
		return usage("--put-weight and --get-weight cannot be negative")
	case put == 0 && get == 0:
		return usage("--put-weight and --get-weight are both 0, so there is nothing to do")
	case put == 0:
		f.put("mix", fmt.Sprintf("get=%g", get))
	case get == 0:
		f.put("mix", fmt.Sprintf("put=%g", put))
	default:
		f.put("mix", fmt.Sprintf("put=%g,get=%g", put, get))
	}
	return nil
}

func (f *benchFlags) registerTxnMixed(r flags) {
	r.number("rw-ratio", &f.rwRatio, "R", "reads for each write")
	r.text("end-key", &f.endKey, "KEY", "the first key after what is read; the same as END")
}

// fillTxnMixed settles what is read: all keys, or all with the prefix, unless
// KEY or an end is given.
func (f *benchFlags) fillTxnMixed(args []string) error {
	if !(f.rwRatio >= 0) || f.rwRatio > scenario.MaxRate {
		return usage("--rw-ratio is %g and must be from 0 to %d", f.rwRatio, scenario.MaxRate)
	}
	if f.rwRatio == 0 {
		f.put("mix", "txn")
		f.command.Drop("range-limit")
		return nil
	}
	f.put("mix", fmt.Sprintf("txn-get=%g,txn=1", f.rwRatio))
	first, end := firstOfAll, afterAll
	if f.command.Given("prefix") {
		prefix := f.text("prefix")
		if behind := prefixEnd(prefix); behind != "" {
			first, end = prefix, behind
		}
	}
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case len(args) > 1 && f.endKey != "":
		return usage("END %q and --end-key %q are the same; give one of them", args[1], f.endKey)
	case len(args) > 1:
		end = args[1]
	case f.endKey != "":
		end = f.endKey
	}
	f.put("range-key", first)
	f.put("range-end", end)
	return nil
}

// watchFlags are those of the commands with watchers.
type watchFlags struct {
	streams   int
	perStream int
	keys      int64 // watched
}

func (f *benchFlags) registerWatch(r flags) {
	f.watch = watchFlags{streams: 10, perStream: 100, keys: 1}
	r.whole("streams", &f.watch.streams, "watch streams")
	r.whole("watch-per-stream", &f.watch.perStream, "watchers on each stream")
	r.long("watched-key-total", &f.watch.keys, "keys that are watched, and written in turn; no more than there are (--key-space-size)")
	r.toggle("sequential-keys", &f.sequential, "no matter: the watched keys are always the first of the key space")
}

// fillWatch: the keys that are watched are all that there are.
func (f *benchFlags) fillWatch([]string) error {
	w := &f.watch
	if w.keys < 1 {
		return usage("--watched-key-total must be at least 1, not %d", w.keys)
	}
	if n, err := parseWhole[int64](f.text("key-space")); !f.command.Given("key-space") || err == nil && n > w.keys {
		f.put("key-space", strconv.FormatInt(w.keys, 10))
	}
	return f.onStreams("--watch-per-stream")
}

// onStreams says how many watchers so many on each stream are.
func (f *benchFlags) onStreams(flag string) error {
	w := &f.watch
	switch {
	case w.streams < 1 || w.streams > scenario.MaxWatchers:
		return usage("--streams is %d and must be from 1 to %d", w.streams, scenario.MaxWatchers)
	case w.perStream < 1 || w.perStream > scenario.MaxWatchers/w.streams:
		return usage("%s is %d and must be from 1 to %d, with %d streams", flag, w.perStream, scenario.MaxWatchers/w.streams, w.streams)
	}
	f.put("watch.watchers", strconv.Itoa(w.streams*w.perStream))
	f.put("watch.streams", strconv.Itoa(w.streams))
	return nil
}

// catchUpKey is the key that the watchers of `watch-get` watch, after the prefix.
const catchUpKey = "watchkey"

// fillWatchGet: one client reads on a connection of its own.
func (f *benchFlags) fillWatchGet([]string) error {
	if f.command.Given("prefix") {
		f.command.Let("watch.key", f.text("prefix")+catchUpKey)
	}
	streams, err := parseWhole[int](f.text("watch.streams"))
	if err != nil {
		return usage("--streams: %w", err)
	}
	f.command.Let("clients", "1")
	return f.ownConnections(streams)
}

// ownConnections puts the watchers on connections of their own, and the
// operations on another.
func (f *benchFlags) ownConnections(streams int) error {
	if f.conns < 1 || f.conns > scenario.MaxConnections {
		return usage("--conns is %d and must be from 1 to %d", f.conns, scenario.MaxConnections)
	}
	f.command.Let("watch.connections", strconv.Itoa(min(f.conns, streams)))
	f.command.Let("connections", "1")
	return nil
}

func (f *benchFlags) registerWatchLatency(r flags) {
	f.watch = watchFlags{streams: 10, perStream: 10}
	r.whole("streams", &f.watch.streams, "watch streams")
	r.whole("watchers-per-stream", &f.watch.perStream, "watchers on each stream")
}

func (f *benchFlags) fillWatchLatency([]string) error {
	if err := f.onStreams("--watchers-per-stream"); err != nil {
		return err
	}
	if !f.isZero("rate") {
		f.command.Let("clients", "1")
	}
	return f.ownConnections(f.watch.streams)
}
