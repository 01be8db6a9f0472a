package measure

import "math/bits"

// Collector merges the seconds that the shards of a generator hand over, and adds up the
// totals of the phases. It belongs to one goroutine.
//
// Example: with two shards, Each gets second 0 when both shards have handed over their
// second 0 or a later one:
//
//	c.Add(0, second0) // waits
//	c.Add(0, second1) // waits
//	c.Add(1, second0) // merges both seconds 0 and calls Each
//
// Invariant: Each receives the seconds in order, each exactly once, and each is the sum of all
// shards that had a part of it.
type Collector struct {
	// Each is called with every merged second, in the order of phases and seconds. The
	// collector reuses its histograms afterwards.
	Each func(*Second)
	// Recycle receives the histograms of a merged second, emptied, for reuse.
	Recycle func(*Histogram)
	// NoTotals disables the totals: Close returns nil.
	NoTotals bool

	shards   []shard
	waiting  waiting
	totals   [2]Totals   // by phase
	reported [2]Reported // by phase
	gap      gap
	added    int // number of merged seconds of the window
}

// shard is the progress of one shard.
type shard struct {
	last  place // its last second
	begun bool  // it has handed over a second
	ended bool
}

// NewCollector returns a collector for the given number of shards.
func NewCollector(shards int) *Collector {
	return &Collector{shards: make([]shard, shards)}
}

// Add adds the next second of a shard. The collector then owns the second. The seconds of a
// shard must be in order.
func (c *Collector) Add(shard int, s *Second) { c.add(shard, s, true) }

// Copy adds a copy of the next second of a shard.
func (c *Collector) Copy(shard int, s *Second) { c.add(shard, s, false) }

func (c *Collector) add(shard int, s *Second, ours bool) {
	s.Settle()
	c.waiting.add(s, ours, c.recycle)
	c.shards[shard].last, c.shards[shard].begun = s.place(), true
	c.advance()
}

// End records that a shard has no more seconds.
func (c *Collector) End(shard int) {
	c.shards[shard].ended = true
	c.advance()
}

// Straggler returns a shard for which the earliest second waits, if the waiting seconds take
// more than most bytes.
func (c *Collector) Straggler(most int) (shard int, late bool) {
	if c.waiting.packed <= most {
		return 0, false
	}
	for i := range c.shards {
		if !c.isPast(i, c.waiting.seconds[0].place) {
			return i, true
		}
	}
	return 0, false
}

// Close returns the totals of the measurement window, whose length is given in seconds, and of
// the warm-up. The caller sets the totals that are not sums of seconds. All shards must have
// ended.
func (c *Collector) Close(seconds float64) (measured, warmup *Totals) {
	if c.NoTotals {
		return nil, nil
	}
	c.gap.finish(seconds, c.added)
	// Copy the totals: otherwise a caller that keeps them would keep the whole collector.
	totals := c.totals
	measured, warmup = &totals[Measured], &totals[Warmup]
	measured.Seconds = seconds
	measured.LongestGap = float64(c.gap.longest) / 1000
	measured.LongestGapAt = float64(c.gap.longestAt) / 1000
	return measured, warmup
}

// isPast reports whether a shard will hand over no more of a second.
func (c *Collector) isPast(shard int, p place) bool {
	s := &c.shards[shard]
	return s.ended || s.begun && !s.last.isBefore(p)
}

// advance passes on the earliest seconds that no shard will add to any more.
func (c *Collector) advance() {
	for len(c.waiting.seconds) > 0 {
		for i := range c.shards {
			if !c.isPast(i, c.waiting.seconds[0].place) {
				return
			}
		}
		c.passOn(c.waiting.takeFirst())
	}
}

// passOn passes on a complete second.
func (c *Collector) passOn(whole *Second) {
	if !c.NoTotals {
		bounded := whole.Tally
		bounded.Cells = c.reported[whole.Phase].bounded(whole.Cells)
		c.totals[whole.Phase].merge(&bounded)
		if whole.Phase == Measured {
			c.gap.add(&whole.Alive)
			c.added++
		}
	}
	if c.Each != nil {
		c.Each(whole)
	}
	whole.recycle(c.recycle)
}

// recycle empties a histogram and hands it back.
func (c *Collector) recycle(h *Histogram) {
	if h != nil && c.Recycle != nil {
		h.Reset()
		c.Recycle(h)
	}
}

// gap finds the longest run of milliseconds without a completed operation.
type gap struct {
	run, longest int // milliseconds
	longestAt    int // start of the longest run
	seen         int // milliseconds added
}

// add adds the milliseconds of the next second.
func (g *gap) add(alive *[16]uint64) {
	for ms := 0; ms < 1000; {
		word, bit := ms>>6, ms&63
		rest := alive[word] >> bit
		if rest == 0 { // the rest of this word is empty
			n := min(64-bit, 1000-ms)
			g.run += n
			ms += n
			continue
		}
		zeros := bits.TrailingZeros64(rest)
		g.run += zeros
		ms += zeros
		g.endRun(g.run, g.seen+ms)
		g.run = 0
		ms++
	}
	g.seen += 1000
}

// endRun ends a run at a millisecond.
func (g *gap) endRun(run, at int) {
	if run > g.longest {
		g.longest, g.longestAt = run, at-run
	}
}

// finish ends the last run at the end of the window, which is seconds long. The part of the
// last second after the window is not part of a gap.
func (g *gap) finish(seconds float64, added int) {
	beyond := added*1000 - int(seconds*1000)
	g.endRun(g.run-max(beyond, 0), g.seen-max(beyond, 0))
}
