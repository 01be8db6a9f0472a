package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A second is sent to another machine as a sequence of varints in the order of coder.second. A
// histogram consists of its non-zero counts, each with the distance from the previous one: a
// few KiB, while it takes 240 KiB in memory. The input may come from anyone, so the coder
// checks its limits before it allocates.

const (
	// mostNamed is the number of histograms of named members with which a second is sent; the
	// others are added to the unnamed series. mostHistograms is the limit for reading: those,
	// and all histograms that unnamed series can have.
	mostNamed      = 512
	mostHistograms = 1024
	// mostCount is larger than any count of a load in a second, and small enough that sums do
	// not overflow.
	mostCount = 1 << 44
	// mostSeconds limits the index of a second; no load is that long.
	mostSeconds = 1 << 22
)

// coder appends numbers to b, or reads them from b. One method handles both directions, so
// that they cannot differ.
type coder struct {
	b       []byte
	reading bool
	fresh   func() *Histogram // creates histograms when reading
	ours    bool              // this process wrote the bytes, so counts need no check
	err     error             // first error of reading
	kept    int               // histograms read
}

var (
	errShort  = errors.New("it ends too early")
	errCount  = errors.New("a count is too large")
	errCounts = errors.New("a histogram has an invalid step")
	errMany   = fmt.Errorf("it has more than %d histograms", mostHistograms)
)

// finish returns the error of reading, if any. what names the object.
func (c *coder) finish(what string) error {
	if c.err == nil && len(c.b) > 0 {
		c.err = errors.New("unexpected bytes follow it")
	}
	if c.err != nil {
		return fmt.Errorf("the data is not %s: %w", what, c.err)
	}
	return nil
}

// fail records an error unless there is an earlier one.
func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// number codes a number that is at most most.
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

// anyNumber is the limit for numbers without a limit.
const anyNumber = 1<<64 - 1

// mostWaited is the limit, in nanoseconds, for times added up over all clients of a second.
const mostWaited = 1 << 56

// counts codes counts.
func (c *coder) counts(list ...*uint64) {
	for _, n := range list {
		c.number(n, mostCount)
	}
}

// codeSmall codes numbers of smaller types.
func codeSmall[T ~int | ~uint8 | ~uint32 | ~int64](c *coder, most uint64, list ...*T) {
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

// ReadHistogram decodes a histogram that AppendHistogram encoded.
func ReadHistogram(b []byte) (h *Histogram, err error) {
	c := coder{b: b, reading: true, fresh: NewHistogram}
	c.histogram(&h)
	return h, c.finish("a histogram")
}

// histogram codes a histogram as the number of its non-zero counts, followed by the counts. It
// decodes an empty histogram as nil.
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

// readHistogram decodes a histogram.
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
		_ = h.RecordValues(StepAt(int(at)), int64(count)) // cannot fail: the histogram has every step
	}
	return h
}
