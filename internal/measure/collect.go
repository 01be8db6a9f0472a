package measure

import "math/bits"

// Collector merges what the shards of a generator hand over, a second at a
// time as it comes, and keeps the totals of the measured window. It belongs to one
// goroutine.
type Collector struct {
	// Each is called with every merged second, in the order of phases and
	// seconds. Its histograms are used again afterwards.
	Each func(*Second)
	// Recycle takes back the histograms of a second that has been used.
	Recycle func(*Histogram)
	// NoTotals says that nobody asks for the totals: Close returns nil.
	NoTotals bool

	shards   []shard
	waiting  waiting
	totals   [2]Totals   // by phase
	reported [2]Reported // likewise
	gap      gap
	added    int // measured seconds merged
}

// shard is how far one is.
type shard struct {
	last  place // its last second
	begun bool  // there is one
	ended bool
}

// NewCollector returns a collector of so many shards.
func NewCollector(shards int) *Collector {
	return &Collector{shards: make([]shard, shards)}
}

// Add takes a shard's next second, which is the collector's from now on. Seconds of
// one shard come in order.
func (c *Collector) Add(shard int, s *Second) { c.add(shard, s, true) }

// Copy is Add of a second that stays the caller's.
func (c *Collector) Copy(shard int, s *Second) { c.add(shard, s, false) }

func (c *Collector) add(shard int, s *Second, ours bool) {
	s.Settle()
	c.waiting.add(s, ours, c.recycle)
	c.shards[shard].last, c.shards[shard].begun = s.place(), true
	c.advance()
}

// End says that a shard has nothing more to hand over.
func (c *Collector) End(shard int) {
	c.shards[shard].ended = true
	c.advance()
}

// Straggler is a shard for which the earliest second waits, when what waits
// behind that takes more than so many bytes.
func (c *Collector) Straggler(most int) (shard int, late bool) {
	if c.waiting.packed <= most {
		return 0, false
	}
	for i := range c.shards {
		if !c.past(i, c.waiting.seconds[0].place) {
			return i, true
		}
	}
	return 0, false
}

// Close returns the totals of the measured window, whose length in seconds the
// generator knows, and of the warm-up. What is no sum of seconds the generator
// adds. All shards have ended.
func (c *Collector) Close(seconds float64) (measured, warmup *Totals) {
	if c.NoTotals {
		return nil, nil
	}
	c.gap.close(seconds, c.added)
	// In memory of their own: who keeps them does not keep what the collector
	// was given.
	totals := c.totals
	measured, warmup = &totals[Measured], &totals[Warmup]
	measured.Seconds = seconds
	measured.LongestGap = float64(c.gap.longest) / 1000
	measured.LongestGapAt = float64(c.gap.longestAt) / 1000
	return measured, warmup
}

// past reports whether nothing of a second is to come from a shard any more.
func (c *Collector) past(shard int, p place) bool {
	s := &c.shards[shard]
	return s.ended || s.begun && !s.last.before(p)
}

// advance passes on the earliest second as long as every shard has handed it over,
// or a later one, or has ended.
func (c *Collector) advance() {
	for len(c.waiting.seconds) > 0 {
		for i := range c.shards {
			if !c.past(i, c.waiting.seconds[0].place) {
				return
			}
		}
		c.pass(c.waiting.first())
	}
}

// pass takes a second that all have handed over.
func (c *Collector) pass(whole *Second) {
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

func (c *Collector) recycle(h *Histogram) {
	if h != nil && c.Recycle != nil {
		h.Reset()
		c.Recycle(h)
	}
}

// gap finds the longest run of milliseconds in which nothing was done.
type gap struct {
	run, longest int // milliseconds
	longestAt    int // where the longest began
	seen         int // how many were added
}

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
		g.end(g.run, g.seen+ms)
		g.run = 0
		ms++
	}
	g.seen += 1000
}

// end takes a run that ended at a millisecond.
func (g *gap) end(run, at int) {
	if run > g.longest {
		g.longest, g.longestAt = run, at-run
	}
}

// close ends the window seconds after its opening: what the last second had
// beyond it is no gap.
func (g *gap) close(seconds float64, added int) {
	beyond := added*1000 - int(seconds*1000)
	g.end(g.run-max(beyond, 0), g.seen-max(beyond, 0))
}
