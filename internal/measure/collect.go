package measure

import "math/bits"

// Collector merges the seconds from all shards of a load, and adds up the totals of each phase. A
// shard is a part of the load, such as an event loop or a worker, that reports its own seconds.
// Only one goroutine may use a Collector.
//
// Example: with two shards, the collector calls OnSecond with second 0 after both shards have added
// their second 0 or a later second:
//
//	c.Add(0, second0) // waits
//	c.Add(0, second1) // waits
//	c.Add(1, second0) // merges both seconds 0 and calls OnSecond
//
// Invariant: OnSecond receives every second exactly once and in order. Each second is the sum over
// all shards that have a part of it.
type Collector struct {
	// OnSecond is called for every merged second, in the order of phases and seconds. After each
	// call, the collector reuses the second's histograms.
	OnSecond func(*Second)
	// Recycle receives the emptied histograms of a merged second for reuse.
	Recycle func(*Histogram)
	// NoTotals disables the totals. If it is set, Close returns nil.
	NoTotals bool

	shards   []shard
	pending  pendingSeconds
	totals   [2]Totals      // the index is the phase
	reported [2]MemberTerms // the index is the phase
	gap      gap
	added    int // number of merged seconds in the window
}

// shard is the progress of one shard.
type shard struct {
	last       secondID // the last second that the shard added
	hasStarted bool     // set if the shard has added a second
	hasEnded   bool
}

// NewCollector returns a collector for the given number of shards.
func NewCollector(shards int) *Collector {
	return &Collector{shards: make([]shard, shards)}
}

// Add adds the next second of a shard. The collector then owns the second. Each shard must add its
// seconds in order.
func (c *Collector) Add(shard int, s *Second) { c.add(shard, s, true) }

// AddCopy adds a copy of the next second of a shard.
func (c *Collector) AddCopy(shard int, s *Second) { c.add(shard, s, false) }

func (c *Collector) add(shard int, s *Second, owned bool) {
	s.FlushLive()
	c.pending.add(s, owned, c.recycle)
	c.shards[shard].last, c.shards[shard].hasStarted = s.id(), true
	c.advance()
}

// End must be called when a shard will not add more seconds.
func (c *Collector) End(shard int) {
	c.shards[shard].hasEnded = true
	c.advance()
}

// Straggler returns a shard that delays the earliest waiting second, if the waiting seconds take
// more than `limit` bytes. Otherwise late is false.
func (c *Collector) Straggler(limit int) (shard int, late bool) {
	if c.pending.encodedSize <= limit {
		return 0, false
	}
	for i := range c.shards {
		if !c.isPast(i, c.pending.seconds[0].secondID) {
			return i, true
		}
	}
	return 0, false
}

// Close returns the totals of the measurement window and of the warm-up. `seconds` is the length of
// the window in seconds. The caller must set those totals that are not sums over seconds. All
// shards must have ended.
func (c *Collector) Close(seconds float64) (measured, warmup *Totals) {
	if c.NoTotals {
		return nil, nil
	}
	c.gap.finish(seconds, c.added)
	// Return copies of the totals. Otherwise, a caller that keeps them would keep the whole
	// collector in memory.
	totals := c.totals
	measured, warmup = &totals[Measured], &totals[Warmup]
	measured.Seconds = seconds
	measured.LongestGap = float64(c.gap.longest) / 1000
	measured.LongestGapAt = float64(c.gap.longestAt) / 1000
	return measured, warmup
}

// isPast reports whether a shard will add no more results to a second.
func (c *Collector) isPast(shard int, p secondID) bool {
	s := &c.shards[shard]
	return s.hasEnded || s.hasStarted && !s.last.isBefore(p)
}

// advance delivers the earliest seconds that are complete: no shard will add results to them.
func (c *Collector) advance() {
	for len(c.pending.seconds) > 0 {
		for i := range c.shards {
			if !c.isPast(i, c.pending.seconds[0].secondID) {
				return
			}
		}
		c.deliver(c.pending.takeFirst())
	}
}

// deliver adds a complete second to the totals, and calls OnSecond.
func (c *Collector) deliver(second *Second) {
	if !c.NoTotals {
		bounded := second.Tally
		bounded.Cells = c.reported[second.Phase].limitMembers(second.Cells)
		c.totals[second.Phase].merge(&bounded)
		if second.Phase == Measured {
			c.gap.add(&second.Alive)
			c.added++
		}
	}
	if c.OnSecond != nil {
		c.OnSecond(second)
	}
	second.recycle(c.recycle)
}

// recycle empties a histogram and passes it to Recycle.
func (c *Collector) recycle(h *Histogram) {
	if h != nil && c.Recycle != nil {
		h.Reset()
		c.Recycle(h)
	}
}

// gap finds the longest sequence of milliseconds without a completed operation.
type gap struct {
	currentRun, longest int // in milliseconds
	longestAt           int // start of the longest sequence
	addedMS             int // number of milliseconds added so far
}

// add adds the milliseconds of the next second.
func (g *gap) add(alive *Milliseconds) {
	for ms := 0; ms < 1000; {
		word, bit := ms>>6, ms&63
		rest := alive[word] >> bit
		if rest == 0 { // the rest of this word is empty
			n := min(64-bit, 1000-ms)
			g.currentRun += n
			ms += n
			continue
		}
		zeros := bits.TrailingZeros64(rest)
		g.currentRun += zeros
		ms += zeros
		g.endRun(g.currentRun, g.addedMS+ms)
		g.currentRun = 0
		ms++
	}
	g.addedMS += 1000
}

// endRun ends a sequence of `length` milliseconds before the millisecond `end`.
func (g *gap) endRun(length, end int) {
	if length > g.longest {
		g.longest, g.longestAt = length, end-length
	}
}

// finish ends the last sequence at the end of the window, whose length is `seconds`. A gap does not
// include the part of the last second that is after the window.
func (g *gap) finish(seconds float64, added int) {
	excess := added*1000 - int(seconds*1000)
	g.endRun(g.currentRun-max(excess, 0), g.addedMS-max(excess, 0))
}
