package kv

// WatchMode says what a watch of a store is: what it tells, and how long it stays.
type WatchMode uint8

// The modes.
const (
	// AnyWatch is what the store has where nobody says: Capabilities.Watches.Usual.
	AnyWatch WatchMode = iota
	// StreamWatch tells of each change with its value, in order, from a revision on.
	StreamWatch
	// OnceWatch tells once that there was a change. A read sets it again and has the
	// newest value: what changed between is passed over.
	OnceWatch
	// PersistentWatch tells of each change, from when it was set on, which key it was
	// and at which revision of the store, and not the value.
	PersistentWatch
	// QueryWatch is a query that waits on a connection of its own until what it asks for
	// has changed, and tells what that is now: of several changes between two queries
	// the newest. Event.Version is then 1 for a key that is there.
	QueryWatch
	NumWatchModes
)

var watchModeNames = [NumWatchModes]string{"", "stream", "once", "persistent", "query"}

// String returns the mode as flags and files spell it; AnyWatch is the empty string.
func (m WatchMode) String() string { return name(watchModeNames[:], int(m)) }

// ParseWatchMode is the inverse of String.
func ParseWatchMode(s string) (WatchMode, error) {
	i, err := parse("watch mode", watchModeNames[1:], s)
	return WatchMode(i + 1), err
}

// Watches is what the watches of a store are.
type Watches struct {
	// Modes maps each mode that the store has to what that is there.
	Modes map[WatchMode]string
	// Usual is the mode where none is asked for.
	Usual WatchMode
	// Earlier says that a watcher can begin at an earlier revision than the present.
	Earlier bool
	// Before says that events can carry the value before.
	Before bool
	// Shared says that a connection has each watch of a key once: its watchers of the
	// same key, or of the same folder of keys, are one at the server.
	Shared bool
}

// Mode is what a load gets that asks for a mode.
func (w *Watches) Mode(asked WatchMode) WatchMode {
	if asked == AnyWatch {
		return w.Usual
	}
	return asked
}
