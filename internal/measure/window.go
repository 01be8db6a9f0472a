package measure

// Window holds the observations of one loop, or of all loops together, in the measurement window.
// They are in addition to the counts and times of each second.
type Window struct {
	CarriedIn uint64 // number of operations in flight when the window opened
	// CarriedInAge is the age of the oldest of these operations when the window opened, in
	// nanoseconds.
	CarriedInAge int64
	// MaxInFlight is the largest number of operations in flight. Capped is the number of due
	// operations that waited because of the limit of operations in flight. NoRoom is the number of
	// due operations in an open loop that waited for a connection. Disturbed.Waiting contains the
	// times of both kinds of delay.
	MaxInFlight int
	Capped      uint64
	NoRoom      uint64
	// Held is the number of closed-loop clients whose operation was still in flight at a member
	// after the load had moved to another member. HeldLongest is the longest time from the move to
	// the end of such an operation, in nanoseconds.
	Held        int
	HeldLongest int64
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
	w.CarriedIn += o.CarriedIn
	w.CarriedInAge = max(w.CarriedInAge, o.CarriedInAge)
	w.MaxInFlight += o.MaxInFlight
	w.Capped += o.Capped
	w.NoRoom += o.NoRoom
	w.Held += o.Held
	w.HeldLongest = max(w.HeldLongest, o.HeldLongest)
	w.add(&o.ConnectionCounts)
	w.Paused += o.Paused
	w.LongestPause = max(w.LongestPause, o.LongestPause)
}

// ConnectionCounts counts events of connections in a window. The JSON names are the names in a
// trial's result. To add a count, add a field, add the field to the method add, and count the
// events in the engine.
type ConnectionCounts struct {
	Reconnects uint64 `json:"reconnects"`
	// Expired is the number of sessions that the server had already ended when a new connection
	// tried to resume them.
	Expired uint64 `json:"sessions_expired"`
}

// add adds the counts in o.
func (c *ConnectionCounts) add(o *ConnectionCounts) {
	c.Reconnects += o.Reconnects
	c.Expired += o.Expired
}

// Link describes what happened to the connections to one endpoint in the window.
type Link struct {
	Endpoint    string
	Connections int // number of connections when the window opened
	Fewest      int // smallest number of connections in the window
	Lost        int // number of lost connections
	// LostAt is the time at which the number of connections first fell below Connections. BackAt is
	// the time at which the number returned to Connections and stayed there. Both are in seconds
	// since the start of the window. A time is -1 if its event did not happen.
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
