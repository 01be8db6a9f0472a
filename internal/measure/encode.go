package measure

import (
	"fmt"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// AppendSecond appends the encoding of a second to b, and returns the extended slice.
func AppendSecond(b []byte, s *Second) []byte {
	c := coder{b: b}
	one := *s
	one.foldMemberHistograms()
	c.second(&one)
	return c.b
}

// ReadSecond decodes a second that AppendSecond encoded. It checks the bytes, because another
// machine may have sent them.
func ReadSecond(b []byte) (*Second, error) { return readSecond(b, NewHistogram) }

// readSecond decodes a second. It calls `newHistogram` to allocate each histogram.
func readSecond(b []byte, newHistogram func() *Histogram) (*Second, error) {
	c, s := coder{b: b, reading: true, newHistogram: newHistogram}, &Second{}
	c.second(s)
	if c.err == nil {
		c.err = s.check()
	}
	return s, c.finish("a second")
}

// Reader decodes seconds from several machines one at a time, and reuses the same histograms. This
// saves memory because a second takes megabytes and the seconds from all machines arrive at the
// same time. Any goroutine may call Read.
type Reader struct {
	mu    sync.Mutex
	spare []*Histogram
}

// maxSpareHistograms is the maximum number of histograms that are kept for the next second.
const maxSpareHistograms = 64

// Read decodes a second and passes it to `take`. Concurrent calls of Read execute one at a time.
func (r *Reader) Read(b []byte, take func(*Second) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := readSecond(b, r.newHistogram)
	if err != nil {
		return err
	}
	return take(s)
}

// Recycle returns an empty histogram to the Reader, which uses it for the next second. Only the
// function that was passed to Read may call it.
func (r *Reader) Recycle(h *Histogram) {
	if len(r.spare) < maxSpareHistograms {
		r.spare = append(r.spare, h)
	}
}

// newHistogram returns an empty histogram.
func (r *Reader) newHistogram() *Histogram {
	n := len(r.spare)
	if n == 0 {
		return NewHistogram()
	}
	h := r.spare[n-1]
	r.spare = r.spare[:n-1]
	return h
}

// foldMemberHistograms limits the number of per-member histograms to maxMemberHistograms. It merges
// all cells beyond this limit into the unnamed series.
func (s *Second) foldMemberHistograms() {
	n := 0
	for i, c := range s.Cells {
		if n += c.countHistograms(); n <= maxMemberHistograms {
			continue
		}
		cells := make([]*Cell, 0, i)
		for _, c := range s.Cells[:i] {
			if c.Series == c.WithoutMember() {
				// make a copy, because other cells are merged into it
				c = MergeCells(nil, []*Cell{c})[0]
			}
			cells = append(cells, c)
		}
		for _, c := range s.Cells[i:] {
			one := *c
			one.Series = one.WithoutMember()
			cells = MergeCells(cells, []*Cell{&one})
			if c.Series == one.Series {
				continue
			}
			s.Unattributed = min(s.Unattributed+Count(c.Response)+c.CountFailed(), maxCount)
		}
		s.Cells = cells
		return
	}
}

// second encodes or decodes all fields of a second.
func (c *coder) second(s *Second) {
	codeSmall(c, uint64(Measured), &s.Phase)
	codeSmall(c, maxSeconds, &s.Index)
	codeSmall(c, maxCount, &s.Length)
	c.counts(s.pointers()...)
	c.counts(&s.Due, &s.Keys, &s.Retries, &s.Done, &s.Unattributed)
	for i := range s.Outcomes {
		c.counts(&s.Outcomes[i])
	}
	for i := range s.DoneKinds {
		c.counts(&s.DoneKinds[i], &s.Misses[i])
	}
	codeSmall(c, 1<<31, &s.Connections, &s.Clients, &s.InFlight, &s.Resting)
	for i := range s.Alive {
		c.number(&s.Alive[i], noLimit)
	}
	c.cells(s)
	c.histogram(&s.Lateness)
	c.counts(&s.Watch.Delivered, &s.Watch.Duplicated, &s.Watch.Reordered, &s.Watch.Untimed)
	c.histogram(&s.Watch.FromDue)
	c.histogram(&s.Watch.FromSent)
	for _, h := range s.Disturbance.histograms() {
		c.histogram(h)
	}
	codeSmall(c, maxWaitNS, &s.Disturbance.Idle, &s.Disturbance.RunWait)
	c.slotDetail(&s.SlotDetail)
}

// cells encodes or decodes the cells of a second.
func (c *coder) cells(s *Second) {
	codeList(c, &s.Cells, maxHistograms, func(cell **Cell) {
		if c.reading {
			*cell = &Cell{}
		}
		at := *cell
		codeSmall(c, uint64(kv.NumKinds-1), &at.Kind)
		codeSmall(c, uint64(kv.NumConsistencies-1), &at.Consistency)
		c.number(&at.Member, noLimit)
		c.number(&at.Term, noLimit)
		c.histogram(&at.Response)
		c.histogram(&at.Service)
		for k := range at.Failed {
			c.histogram(&at.Failed[k])
		}
	})
}

// check returns an error unless each due operation has an outcome and a time.
func (s *Second) check() error {
	ended, timed, served := uint64(0), uint64(0), uint64(0)
	for _, n := range s.Outcomes {
		ended += n
	}
	for _, c := range s.Cells {
		timed += Count(c.Response) + c.CountFailed()
		served += Count(c.Service)
	}
	if ended != s.Due || timed != s.Due || served > s.Due {
		return fmt.Errorf("%d operations were due, but %d have an outcome and %d have a time", s.Due, ended, timed)
	}
	return nil
}
