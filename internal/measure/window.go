package measure

// Window holds the observations of one loop, or of all loops together, in the measurement window.
// These observations supplement the counts and times of each second.
type Window struct {
	InFlightAtStart uint64 // number of operations in flight when the window opened
	// OldestInFlightAge is the age of the oldest of these operations when the window opened, in
	// nanoseconds.
	OldestInFlightAge int64
	// MaxInFlight is the largest number of operations in flight. WaitedForLimit is the number of
	// due operations that waited because the limit on operations in flight was reached.
	// WaitedForConnection is the number of due operations in an open loop that waited for a
	// connection. Disturbance.BlockedDelay contains the times of both kinds of delay.
	MaxInFlight         int
	WaitedForLimit      uint64
	WaitedForConnection uint64
	// Stranded is the number of closed-loop clients whose operation was still in flight at a member
	// after the load had moved to another member. LongestStranded is the longest time from the move
	// to the end of such an operation, in nanoseconds.
	Stranded        int
	LongestStranded int64
	ConnectionCounts
	// Paused is the total delay of the loops, in nanoseconds: the delays of their wake-ups, and the
	// part of each iteration that the loop's own work does not explain. During these delays, the
	// loop's thread was stopped, throttled or not scheduled.
	Paused int64
	// LongestPause is the longest delay of a loop's wake-up or the longest iteration of a loop,
	// whichever is longer, in nanoseconds.
	LongestPause int64
}

// Merge adds the window of another loop or worker. After Merge, MaxInFlight is an upper bound,
// because the loops may have reached their maxima at different times.
func (w *Window) Merge(o *Window) {
	w.InFlightAtStart += o.InFlightAtStart
	w.OldestInFlightAge = max(w.OldestInFlightAge, o.OldestInFlightAge)
	w.MaxInFlight += o.MaxInFlight
	w.WaitedForLimit += o.WaitedForLimit
	w.WaitedForConnection += o.WaitedForConnection
	w.Stranded += o.Stranded
	w.LongestStranded = max(w.LongestStranded, o.LongestStranded)
	w.add(&o.ConnectionCounts)
	w.Paused += o.Paused
	w.LongestPause = max(w.LongestPause, o.LongestPause)
}

// ConnectionCounts counts events of connections in a window. The JSON names are the names in a
// trial's result. To introduce a new count, declare a field for it, extend the method `add`, and
// count the events in the engine.
type ConnectionCounts struct {
	Reconnects uint64 `json:"reconnects"`
	// ExpiredSessions is the number of sessions that the server had already ended when a new
	// connection tried to resume them.
	ExpiredSessions uint64 `json:"sessions_expired"`
}

// add adds the counts in o.
func (c *ConnectionCounts) add(o *ConnectionCounts) {
	c.Reconnects += o.Reconnects
	c.ExpiredSessions += o.ExpiredSessions
}

// Link describes what happened to the connections to one endpoint in the window.
type Link struct {
	Endpoint       string
	Connections    int // number of connections when the window opened
	MinConnections int // smallest number of connections in the window
	Lost           int // number of lost connections
	// LostAt is the time at which the number of connections first fell below Connections. BackAt is
	// the time at which the number returned to Connections and stayed there. Both are in seconds
	// since the start of the window. LostAt is -1 if the number did not fall, and BackAt is -1 if
	// it did not return.
	LostAt, BackAt float64
}

// Connection describes one connection of a closed loop in the window.
type Connection struct {
	// Endpoint is the connection's endpoint. It is empty if the load moved the connection to
	// another endpoint in the window.
	Endpoint string
	// Completed contains, for each client of the connection, the number of completed operations
	// that were due in the window.
	Completed []uint64
}
