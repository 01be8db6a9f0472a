package measure

import (
	"math/bits"
)

// Collector merges what the shards of a generator hand over, a second at a
// time, and keeps the totals of the measured window. It belongs to one
// goroutine.
type Collector struct {
	// Each is called with every merged second, in the order of phases and
	// seconds. Its histograms are used again afterwards.
	Each func(*Second)
	// Recycle takes back the histograms of a second that has been used.
	Recycle func(*Histogram)

	shards   []shardQueue
	totals   [2]Totals   // by phase
	reported [2]Reported // likewise
	gap      gap
	added    int // measured seconds merged
}

type shardQueue struct {
	waiting []*Second
	ended   bool
}

// NewCollector returns a collector of so many shards.
func NewCollector(shards int) *Collector {
	return &Collector{shards: make([]shardQueue, shards)}
}

// Add takes a shard's next second. Seconds of one shard come in order.
func (c *Collector) Add(shard int, s *Second) {
	c.shards[shard].waiting = append(c.shards[shard].waiting, s)
	c.advance()
}

// End says that a shard has nothing more to hand over.
func (c *Collector) End(shard int) {
	c.shards[shard].ended = true
	c.advance()
}

// Close returns the totals of the measured window, whose length in seconds the
// generator knows, and of the warm-up. What is no sum of seconds the generator
// adds. All shards have ended.
func (c *Collector) Close(seconds float64) (measured, warmup *Totals) {
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

// advance merges the earliest second as long as every shard has it, or has
// ended before it.
func (c *Collector) advance() {
	for {
		var first *Second
		for i := range c.shards {
			q := &c.shards[i]
			if len(q.waiting) == 0 {
				if !q.ended {
					return
				}
				continue
			}
			if s := q.waiting[0]; first == nil || before(s, first) {
				first = s
			}
		}
		if first == nil {
			return
		}
		c.merge(first.Phase, first.Index)
	}
}

func before(a, b *Second) bool {
	if a.Phase != b.Phase {
		return a.Phase < b.Phase
	}
	return a.Index < b.Index
}

// merge takes the given second from every shard that has it.
func (c *Collector) merge(phase Phase, index int) {
	var whole *Second
	for i := range c.shards {
		q := &c.shards[i]
		if len(q.waiting) == 0 || q.waiting[0].Phase != phase || q.waiting[0].Index != index {
			continue
		}
		s := q.waiting[0]
		q.waiting = q.waiting[1:]
		if whole == nil {
			whole = s
		} else {
			whole.merge(s, c.recycle)
		}
	}
	bounded := whole.Tally
	bounded.Cells = c.reported[phase].bounded(whole.Cells)
	c.totals[phase].merge(&bounded)
	if phase == Measured {
		c.gap.add(&whole.Alive)
		c.added++
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

// merge adds another shard's part of the same second, and gives its histograms to
// recycle.
func (s *Second) merge(o *Second, recycle func(*Histogram)) {
	s.Length = max(s.Length, o.Length)
	s.Tally.merge(&o.Tally)
	for i := range s.DoneKinds {
		s.DoneKinds[i] += o.DoneKinds[i]
	}
	s.Connections += o.Connections
	s.Clients += o.Clients
	s.Resting += o.Resting
	s.InFlight += o.InFlight
	for i := range s.Alive {
		s.Alive[i] |= o.Alive[i]
	}
	o.recycle(recycle)
}

// Clone is a copy in memory of its own.
func (s *Second) Clone() *Second {
	c := &Second{Phase: s.Phase, Index: s.Index}
	c.merge(s, func(*Histogram) {})
	return c
}

// MergeCells adds the cells of from to those of into, by series, and returns
// into. The cells of from stay as they are.
func MergeCells(into, from []*Cell) []*Cell {
	for _, f := range from {
		var to *Cell
		for _, c := range into {
			if c.Series == f.Series {
				to = c
				break
			}
		}
		if to == nil {
			to = &Cell{Series: f.Series}
			into = append(into, to)
		}
		to.Response = Add(to.Response, f.Response)
		to.Service = Add(to.Service, f.Service)
		for i := range to.Failed {
			to.Failed[i] = Add(to.Failed[i], f.Failed[i])
		}
	}
	return into
}

// Whole merges the totals' cells into one: every success's response and
// service time.
func (t *Totals) Whole() *Cell {
	whole := &Cell{}
	for _, c := range t.Cells {
		one := *c
		one.Series = Series{}
		MergeCells([]*Cell{whole}, []*Cell{&one})
	}
	return whole
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
