package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// A second crosses to another machine as numbers of variable length, one after
// the other in the order of coder.second. A histogram is the counts that are not
// 0, each with how many were passed over before it: a few KiB where its memory
// is 240. What comes may be from anybody: it is bounded before it is kept.

const (
	// mostNamed is how many histograms of named members a second is sent with;
	// what is beyond goes into the unnamed series. mostHistograms is how many one
	// is read with: those, and all that unnamed series can have.
	mostNamed      = 512
	mostHistograms = 1024
	// mostCount is above what any load counts in a second, and far below what
	// overflows when many are added.
	mostCount = 1 << 44
	// mostSeconds bounds a second's number in its phase: no load is as long.
	mostSeconds = 1 << 22
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

// AppendHistogram appends a histogram to b; h may be nil.
func AppendHistogram(b []byte, h *Histogram) []byte {
	c := coder{b: b}
	c.histogram(&h)
	return c.b
}

// ReadHistogram is the inverse.
func ReadHistogram(b []byte) (h *Histogram, err error) {
	c := coder{b: b, reading: true, fresh: NewHistogram}
	c.histogram(&h)
	return h, c.end("a histogram")
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

// histograms is how many the cell has.
func (c *Cell) histograms() (n int) {
	for _, h := range append(c.Failed[:], c.Response, c.Service) {
		if h != nil {
			n++
		}
	}
	return n
}

// coder appends numbers to b, or reads them from it.
type coder struct {
	b       []byte
	reading bool
	fresh   func() *Histogram // to read into
	ours    bool              // what is read was appended here: no count is beyond what there can be
	err     error             // of reading: the first
	kept    int               // histograms read
}

var (
	errShort  = errors.New("it ends too early")
	errCount  = errors.New("a count is beyond what there can be")
	errCounts = errors.New("a histogram counts what it has no place for")
	errMany   = fmt.Errorf("it has more than %d histograms", mostHistograms)
)

// end is the error of what was read.
func (c *coder) end(what string) error {
	if c.err == nil && len(c.b) > 0 {
		c.err = errors.New("something follows it")
	}
	if c.err != nil {
		return fmt.Errorf("what came is not %s: %w", what, c.err)
	}
	return nil
}

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// number is any number below most.
func (c *coder) number(n *uint64, most uint64) {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, *n)
		return
	}
	*n = 0
	v, used := binary.Uvarint(c.b)
	switch {
	case c.err != nil:
	case used <= 0:
		c.fail(errShort)
	case v > most && !c.ours:
		c.fail(errCount)
	default:
		*n, c.b = v, c.b[used:]
	}
}

const anyNumber = 1<<64 - 1

// mostWaited is how many nanoseconds all clients of a second wait together at most.
const mostWaited = 1 << 56

// counted are counts.
func (c *coder) counted(list ...*uint64) {
	for _, n := range list {
		c.number(n, mostCount)
	}
}

// small are counts in an int, or what is as small.
func small[T ~int | ~uint8 | ~uint32 | ~int64](c *coder, most uint64, list ...*T) {
	for _, at := range list {
		n := uint64(*at)
		c.number(&n, most)
		*at = T(n)
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

// histogram is how many counts it has that are not 0, and each of them; of none
// nothing is kept.
func (c *coder) histogram(h **Histogram) {
	if c.reading {
		*h = c.readHistogram()
		return
	}
	var all []Step
	if *h != nil {
		eachStep(*h, func(at int, n int64) { all = append(all, Step{at, n}) })
	}
	c.b = binary.AppendUvarint(c.b, uint64(len(all)))
	last := 0
	for _, one := range all {
		c.b = binary.AppendUvarint(binary.AppendUvarint(c.b, uint64(one.At-last)), uint64(one.N))
		last = one.At
	}
}

func (c *coder) readHistogram() *Histogram {
	var n uint64
	c.number(&n, 1<<20)
	if n == 0 || c.err != nil {
		return nil
	}
	if c.kept++; c.kept > mostHistograms {
		c.fail(errMany)
		return nil
	}
	h := c.fresh()
	at := uint64(0)
	for i := range n {
		var gap, count uint64
		c.number(&gap, NumSteps)
		c.number(&count, mostCount)
		at += gap
		if i > 0 && gap == 0 || count == 0 || at >= NumSteps {
			c.fail(errCounts)
		}
		if c.err != nil {
			return nil
		}
		_ = h.RecordValues(StepAt(int(at)), int64(count)) // there is a place for every step
	}
	return h
}
