package measure

// Window holds what one loop, or all loops together, observed in the measurement window,
// besides its seconds.
type Window struct {
	CarriedIn uint64 // operations in flight when the window opened
	// CarriedInAge is the age of the oldest of them at that time, in nanoseconds.
	CarriedInAge int64
	// MaxInFlight is the largest number of operations in flight. Capped is the number of due
	// operations that the limit delayed, and NoRoom the number in an open loop that waited for
	// a connection (Disturbed.Waiting has the times of both).
	MaxInFlight int
	Capped      uint64
	NoRoom      uint64
	// Held is the number of clients of a closed loop that waited for an operation at a member
	// after the load had moved to another. HeldLongest is the longest time from the move to
	// the end of such an operation, in nanoseconds.
	Held        int
	HeldLongest int64
	ConnectionCounts
	// Paused is the total time, in nanoseconds, by which the loops woke late or were held up
	// in one turn.
	Paused int64
	// LongestPause is the longest time, in nanoseconds, by which a loop woke late or was held
	// up in one turn: stopped, throttled or not scheduled.
	LongestPause int64
}

// Merge adds the window of another loop or worker. MaxInFlight becomes an upper bound, because
// the maxima were at different times.
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

// ConnectionCounts counts events of connections in a window, with their names in a trial's
// result. A new count needs a field and a sum here, and the engine must count it.
type ConnectionCounts struct {
	Reconnects uint64 `json:"reconnects"`
	// Expired is the number of sessions that the server had ended before a new connection
	// resumed them.
	Expired uint64 `json:"sessions_expired"`
}

// add adds the counts of o.
func (c *ConnectionCounts) add(o *ConnectionCounts) {
	c.Reconnects += o.Reconnects
	c.Expired += o.Expired
}

// Link describes what happened to the connections to one endpoint in the window.
type Link struct {
	Endpoint    string
	Connections int // when the window opened
	Fewest      int // smallest number at any time in the window
	Lost        int // number of connections lost
	// LostAt is when the number first fell below that at the opening. BackAt is when it was
	// last back at that number and stayed there. Both are in seconds of the window; -1: never.
	LostAt, BackAt float64
}

// Connection describes one connection of a closed loop in the window.
type Connection struct {
	// Endpoint is the connection's endpoint; empty if the load moved it in the window.
	Endpoint string
	// Completed has the number of operations that each of its clients completed, of those due
	// in the window.
	Completed []uint64
}
