package kv

// WatchMode is the kind of a store's watch: what its events carry and how long it lasts.
type WatchMode uint8

// The modes.
const (
	// AnyWatch is the store's default mode, Capabilities.Watches.Usual.
	AnyWatch WatchMode = iota
	// StreamWatch delivers each change with its value, in order, starting at a revision.
	StreamWatch
	// OnceWatch delivers one event for the next change. A read sets the watch again and
	// returns the newest value; the client misses changes between event and read.
	OnceWatch
	// PersistentWatch delivers the key and revision of each change, without the value,
	// until it is removed.
	PersistentWatch
	// QueryWatch is a blocking query on its own connection. It returns the present state
	// after a change, so that the client sees only the newest of several changes between
	// two queries. Event.Version is then 1 for a key that exists.
	QueryWatch
	NumWatchModes
)

var watchModeNames = [NumWatchModes]string{"", "stream", "once", "persistent", "query"}

// String returns the mode's name in flags and files; AnyWatch is the empty string.
func (m WatchMode) String() string { return name(watchModeNames[:], int(m)) }

// ParseWatchMode is the inverse of String.
func ParseWatchMode(s string) (WatchMode, error) {
	i, err := parse("watch mode", watchModeNames[1:], s)
	return WatchMode(i + 1), err
}

// Watches describes the watches of a store.
type Watches struct {
	// Modes maps each supported mode to how the store implements it.
	Modes map[WatchMode]string
	// Usual is the default mode.
	Usual WatchMode
	// Earlier reports whether a watcher can start at an earlier revision than the current one.
	Earlier bool
	// Before reports whether events can carry the previous value.
	Before bool
	// Shared reports whether all watchers of one connection that watch the same key or
	// the same folder of keys are one watch at the server.
	Shared bool
}

// Mode returns the requested mode, or the default for AnyWatch.
func (w *Watches) Mode(asked WatchMode) WatchMode {
	if asked == AnyWatch {
		return w.Usual
	}
	return asked
}
