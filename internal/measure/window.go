package measure

// Window is what one loop, or all together, keep of the measured window beside
// its seconds.
type Window struct {
	CarriedIn uint64 // in flight when the window opened
	// CarriedInAge is the age of the oldest of those then, in nanoseconds.
	CarriedInAge int64
	// MaxInFlight is the most operations in flight at once; Capped says how
	// many of those due the limit held back, and NoRoom how many of an open
	// loop waited for a connection (Disturbed.Waiting has the times of both).
	MaxInFlight int
	Capped      uint64
	NoRoom      uint64
	// Held is how many clients of a closed loop were held by an operation at a
	// member from which the load had moved away, and HeldLongest the longest
	// time from the move to that operation's end, in nanoseconds.
	Held        int
	HeldLongest int64
	ConnectionCounts
	// Paused is the sum of all times, in nanoseconds, that the loops were late
	// for their own wake-ups or held by one turn.
	Paused int64
	// LongestPause is the longest time, in nanoseconds, that a loop was late for
	// its own wake-up or held by one turn: stopped, throttled or not scheduled.
	LongestPause int64
}

// Merge adds another loop's or worker's. Their most operations in flight were at
// different times, so that the sum is a bound.
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

// ConnectionCounts count what happened to connections in a window, under their names in
// a trial's result. A new one has its field and its sum here, and the engine counts it.
type ConnectionCounts struct {
	Reconnects uint64 `json:"reconnects"`
	// Expired is how many sessions had ended at the server before a new connection
	// took them up again.
	Expired uint64 `json:"sessions_expired"`
}

func (c *ConnectionCounts) add(o *ConnectionCounts) {
	c.Reconnects += o.Reconnects
	c.Expired += o.Expired
}

// Link is what happened to the connections to one endpoint in the window.
type Link struct {
	Endpoint    string
	Connections int // when the window opened
	Fewest      int // at any time in it
	Lost        int // connections that were lost
	// LostAt is when there were fewer than at the opening for the first time,
	// and BackAt when there were as many again, for good: in seconds of the
	// window, -1 for never.
	LostAt, BackAt float64
}

// Connection is one connection of a closed loop in the window, by its clients.
type Connection struct {
	// Endpoint is where it went; empty if the load moved it in the window.
	Endpoint string
	// Completed has for each of its clients how many operations completed, of those
	// due in the window.
	Completed []uint64
}
