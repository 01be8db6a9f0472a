package kv

// WatchMode is the kind of watch that a store has: what its events contain, and how long it lasts.
type WatchMode uint8

// The modes.
const (
	// AnyWatch selects the store's default mode, Capabilities.Watches.Default.
	AnyWatch WatchMode = iota
	// StreamWatch delivers each change with its value, in order, starting at a given revision.
	StreamWatch
	// OnceWatch delivers one event, for the next change. The client then sends a read, which
	// returns the newest value and sets the watch again. The client misses changes between the
	// event and the read.
	OnceWatch
	// PersistentWatch delivers the key and the revision of each change, without the value. It lasts
	// until the client removes it.
	PersistentWatch
	// QueryWatch is a blocking query on a separate connection. It returns the current state after a
	// change. So if several changes occur between two queries, the client sees only the newest
	// state. Event.Version is 1 for a key that exists.
	QueryWatch
	NumWatchModes
)

var watchModeNames = [NumWatchModes]string{"", "stream", "once", "persistent", "query"}

// String returns the mode's name in flags and files, or the empty string for AnyWatch.
func (m WatchMode) String() string { return nameAt(watchModeNames[:], int(m)) }

// ParseWatchMode is the inverse of String.
func ParseWatchMode(s string) (WatchMode, error) {
	i, err := parse("watch mode", watchModeNames[1:], s)
	return WatchMode(i + 1), err
}

// Watches describes the watches of a store.
type Watches struct {
	// Modes maps each supported mode to how the store implements it.
	Modes map[WatchMode]string
	// Default is the default mode.
	Default WatchMode
	// PastRevisions is set if a watcher can start at a revision that is earlier than the current
	// revision.
	PastRevisions bool
	// PreviousValues is set if events can contain the previous value.
	PreviousValues bool
	// SharedByKey is set if all watchers on one connection that watch the same key, or the same
	// folder of keys, are a single watch on the server.
	SharedByKey bool
}

// ResolveMode returns the requested mode, or the store's default mode for AnyWatch.
func (w *Watches) ResolveMode(requested WatchMode) WatchMode {
	if requested == AnyWatch {
		return w.Default
	}
	return requested
}
