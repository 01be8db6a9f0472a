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

	shards []shardQueue
	totals [2]Totals // by phase
	told   [2]Told   // likewise
	gap    gap
	added  int // measured seconds merged
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
	c.totals[phase].add(whole, &c.told[phase])
	if phase == Measured {
		c.gap.add(&whole.Alive)
		c.added++
	}
	if c.Each != nil {
		c.Each(whole)
	}
	for _, cell := range whole.Cells {
		c.recycleCell(cell)
	}
	c.recycle(whole.Lateness)
	c.recycle(whole.Watch.FromDue)
	c.recycle(whole.Watch.FromSent)
	for _, h := range whole.Disturbed.histograms() {
		c.recycle(*h)
	}
}

func (c *Collector) recycleCell(cell *Cell) {
	c.recycle(cell.Response)
	c.recycle(cell.Service)
	for _, h := range cell.Failed {
		c.recycle(h)
	}
}

func (c *Collector) recycle(h *Histogram) {
	if h != nil && c.Recycle != nil {
		h.Reset()
		c.Recycle(h)
	}
}

// merge adds another shard's part of the same second.
func (s *Second) merge(o *Second, recycle func(*Histogram)) {
	s.Length = max(s.Length, o.Length)
	s.AddCounts(&o.Counts)
	s.Due += o.Due
	for i := range s.Outcomes {
		s.Outcomes[i] += o.Outcomes[i]
	}
	s.Keys += o.Keys
	s.Retries += o.Retries
	s.Untold += o.Untold
	s.Done += o.Done
	for i := range s.DoneKinds {
		s.DoneKinds[i] += o.DoneKinds[i]
		s.Missed[i] += o.Missed[i]
	}
	s.Connections += o.Connections
	s.Clients += o.Clients
	s.InFlight += o.InFlight
	for i := range s.Alive {
		s.Alive[i] |= o.Alive[i]
	}
	s.Cells = MergeCells(s.Cells, o.Cells)
	s.Lateness = mergeHistogram(s.Lateness, o.Lateness)
	s.Watch.merge(&o.Watch)
	s.Disturbed.merge(&o.Disturbed)
	s.Resting += o.Resting
	for _, h := range o.Disturbed.histograms() {
		if *h != nil {
			recycle(*h)
		}
	}
	for _, c := range o.Cells {
		for _, h := range append(c.Failed[:], c.Response, c.Service) {
			if h != nil {
				recycle(h)
			}
		}
	}
	recycle(o.Lateness)
	for _, h := range []*Histogram{o.Watch.FromDue, o.Watch.FromSent} {
		if h != nil {
			recycle(h)
		}
	}
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
		to.Response = mergeHistogram(to.Response, f.Response)
		to.Service = mergeHistogram(to.Service, f.Service)
		for i := range to.Failed {
			to.Failed[i] = mergeHistogram(to.Failed[i], f.Failed[i])
		}
	}
	return into
}

// mergeHistogram adds from to into, which it makes if it has to; either may be
// nil.
func mergeHistogram(into, from *Histogram) *Histogram {
	return Add(into, from)
}

// add takes a merged second of the window into the totals.
func (t *Totals) add(s *Second, told *Told) {
	t.AddCounts(&s.Counts)
	t.Due += s.Due
	for i := range t.Outcomes {
		t.Outcomes[i] += s.Outcomes[i]
	}
	t.Keys += s.Keys
	for i := range t.Missed {
		t.Missed[i] += s.Missed[i]
	}
	t.Retries += s.Retries
	t.Done += s.Done
	t.Untold += s.Untold
	t.Cells = MergeCells(t.Cells, told.bounded(s.Cells))
	t.Lateness = mergeHistogram(t.Lateness, s.Lateness)
	t.Watch.merge(&s.Watch)
	t.Disturbed.merge(&s.Disturbed)
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
