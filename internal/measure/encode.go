package measure

import (
	"fmt"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// AppendSecond appends a second to b.
func AppendSecond(b []byte, s *Second) []byte {
	c := coder{b: b}
	one := *s
	one.foldNamed()
	c.second(&one)
	return c.b
}

// ReadSecond is the inverse; its error says what is wrong with the bytes.
func ReadSecond(b []byte) (*Second, error) { return readSecond(b, NewHistogram) }

func readSecond(b []byte, fresh func() *Histogram) (*Second, error) {
	c, s := coder{b: b, reading: true, fresh: fresh}, &Second{}
	c.second(s)
	if c.err == nil {
		c.err = s.check()
	}
	return s, c.end("a second")
}

// Reader reads seconds that come from several machines, one at a time and into the
// same histograms: a second takes megabytes, and those of all come at once. Its
// methods may be called from any goroutine.
type Reader struct {
	mu    sync.Mutex
	spare []*Histogram
}

// mostSpare is how many histograms are kept for the next second.
const mostSpare = 64

// Read gives take the second. Nobody else reads meanwhile.
func (r *Reader) Read(b []byte, take func(*Second) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := readSecond(b, r.fresh)
	if err != nil {
		return err
	}
	return take(s)
}

// Recycle takes back a histogram, which is empty, for the next second. It is called
// within Read.
func (r *Reader) Recycle(h *Histogram) {
	if len(r.spare) < mostSpare {
		r.spare = append(r.spare, h)
	}
}

func (r *Reader) fresh() *Histogram {
	n := len(r.spare)
	if n == 0 {
		return NewHistogram()
	}
	h := r.spare[n-1]
	r.spare = r.spare[:n-1]
	return h
}

// foldNamed puts the cells that are too many to be sent into unnamed ones.
func (s *Second) foldNamed() {
	n := 0
	for i, c := range s.Cells {
		if n += c.histograms(); n <= mostNamed {
			continue
		}
		cells := make([]*Cell, 0, i)
		for _, c := range s.Cells[:i] {
			if c.Series == c.Unnamed() {
				c = MergeCells(nil, []*Cell{c})[0] // a copy, to which others are added
			}
			cells = append(cells, c)
		}
		for _, c := range s.Cells[i:] {
			one := *c
			one.Series = one.Unnamed()
			cells = MergeCells(cells, []*Cell{&one})
			if c.Series == one.Series {
				continue
			}
			for _, h := range append(c.Failed[:], c.Response) {
				if h != nil {
					s.Unreported = min(s.Unreported+uint64(h.TotalCount()), mostCount)
				}
			}
		}
		s.Cells = cells
		return
	}
}

func (c *coder) second(s *Second) {
	small(c, uint64(Measured), &s.Phase)
	small(c, mostSeconds, &s.Index)
	small(c, mostCount, &s.Length)
	c.counted(s.all()...)
	c.counted(&s.Due, &s.Keys, &s.Retries, &s.Done, &s.Unreported)
	for i := range s.Outcomes {
		c.counted(&s.Outcomes[i])
	}
	for i := range s.DoneKinds {
		c.counted(&s.DoneKinds[i], &s.Missed[i])
	}
	small(c, 1<<31, &s.Connections, &s.Clients, &s.InFlight, &s.Resting)
	for i := range s.Alive {
		c.number(&s.Alive[i], anyNumber)
	}
	c.cells(s)
	c.histogram(&s.Lateness)
	c.counted(&s.Watch.Delivered, &s.Watch.Duplicated, &s.Watch.Reordered, &s.Watch.Untimed)
	c.histogram(&s.Watch.FromDue)
	c.histogram(&s.Watch.FromSent)
	for _, h := range s.Disturbed.histograms() {
		c.histogram(h)
	}
	small(c, mostWaited, &s.Disturbed.Idle, &s.Disturbed.RunWait)
	c.fine(&s.Fine)
}

func (c *coder) cells(s *Second) {
	n := uint64(len(s.Cells))
	c.number(&n, mostHistograms)
	for i := range int(n) {
		if c.reading {
			if c.err != nil {
				return
			}
			s.Cells = append(s.Cells, &Cell{})
		}
		at := s.Cells[i]
		small(c, uint64(kv.NumKinds-1), &at.Kind)
		small(c, uint64(kv.NumConsistencies-1), &at.Consistency)
		c.number(&at.Member, anyNumber)
		c.number(&at.Term, anyNumber)
		c.histogram(&at.Response)
		c.histogram(&at.Service)
		for k := range at.Failed {
			c.histogram(&at.Failed[k])
		}
	}
}

// check is what holds for every second: what was due ended somehow, and has its
// time.
func (s *Second) check() error {
	ended, timed, served := uint64(0), uint64(0), uint64(0)
	for _, n := range s.Outcomes {
		ended += n
	}
	for _, c := range s.Cells {
		for _, h := range append(c.Failed[:], c.Response) {
			if h != nil {
				timed += uint64(h.TotalCount())
			}
		}
		if c.Service != nil {
			served += uint64(c.Service.TotalCount())
		}
	}
	if ended != s.Due || timed != s.Due || served > s.Due {
		return fmt.Errorf("%d operations were due, and %d ended and %d were timed", s.Due, ended, timed)
	}
	return nil
}
