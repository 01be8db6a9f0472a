package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
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
