package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A second is sent to another machine as a sequence of varints, in the order of coder.second. A
// histogram is encoded as its non-zero counts, each with its distance from the previous non-zero
// count. The encoding takes a few KiB, whereas a histogram takes 240 KiB in memory. The input may
// come from an untrusted sender, so the coder checks all limits before it allocates memory.

const (
	// maxMemberHistograms is the maximum number of per-member histograms that are sent for one
	// second. Further histograms are merged into the unnamed series. maxHistograms is the maximum
	// number of histograms that a reader accepts in one second. It is sufficient for
	// maxMemberHistograms histograms and for all histograms that unnamed series may have.
	maxMemberHistograms = 512
	maxHistograms       = 1024
	// maxCount limits a count in a second. It is larger than any count that a load can reach, but
	// small enough that sums do not overflow.
	maxCount = 1 << 44
	// maxSeconds limits the index of a second. No load is that long.
	maxSeconds = 1 << 22
)

// coder appends numbers to b, or reads them from b. The same methods handle both directions, so
// that reading and writing cannot differ.
type coder struct {
	b              []byte
	reading        bool
	newHistogram   func() *Histogram // creates histograms when reading
	trusted        bool              // set if this process wrote the bytes, so that counts need no check
	err            error             // the first error while reading
	histogramsRead int               // number of histograms read so far
}

var (
	errTruncated         = errors.New("the data ends too early")
	errCount             = errors.New("the data contains a count that is too large")
	errCounts            = errors.New("a histogram contains an invalid step")
	errTooManyHistograms = fmt.Errorf("the data contains more than %d histograms", maxHistograms)
)

// finish returns the first error that occurred while the data was read. If the data continues after
// the decoded object, finish returns an error, too. `what` is the name of the decoded object in the
// error's text.
func (c *coder) finish(what string) error {
	if c.err == nil && len(c.b) > 0 {
		c.err = errors.New("the data continues after its expected end")
	}
	if c.err != nil {
		return fmt.Errorf("cannot decode %s: %w", what, c.err)
	}
	return nil
}

// fail records an error, unless an error was recorded earlier.
func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// number encodes or decodes a number. A number that is read must not exceed `limit`.
func (c *coder) number(n *uint64, limit uint64) {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, *n)
		return
	}
	*n = 0
	v, used := binary.Uvarint(c.b)
	switch {
	case c.err != nil:
	case used <= 0:
		c.fail(errTruncated)
	case v > limit && !c.trusted:
		c.fail(errCount)
	default:
		*n, c.b = v, c.b[used:]
	}
}

// noLimit is the limit for numbers whose value is not limited.
const noLimit = 1<<64 - 1

// maxWaitNS limits the total time, in nanoseconds, that all clients together waited in one second.
const maxWaitNS = 1 << 56

// counts encodes or decodes counts.
func (c *coder) counts(list ...*uint64) {
	for _, n := range list {
		c.number(n, maxCount)
	}
}

// codeSmall encodes or decodes numbers of smaller types.
func codeSmall[T ~int | ~uint8 | ~uint32 | ~int64](c *coder, limit uint64, list ...*T) {
	for _, at := range list {
		n := uint64(*at)
		c.number(&n, limit)
		*at = T(n)
	}
}

// flag encodes or decodes a Boolean.
func (c *coder) flag(b *bool) {
	n := uint64(0)
	if *b {
		n = 1
	}
	c.number(&n, 1)
	*b = n == 1
}

// codePresence encodes or decodes whether an optional part exists, and reports whether it exists.
// When it reads that the part exists, it allocates the part.
func codePresence[T any](c *coder, part **T) bool {
	exists := *part != nil
	c.flag(&exists)
	if exists && c.reading {
		*part = new(T)
	}
	return exists
}

// codeList encodes or decodes a list: first its length, then each item. A length that is read must
// not exceed `limit`.
func codeList[T any](c *coder, list *[]T, limit uint64, item func(*T)) {
	n := uint64(len(*list))
	c.number(&n, limit)
	codeItems(c, list, n, item)
}

// codeItems encodes or decodes the n items of a list.
func codeItems[T any](c *coder, list *[]T, n uint64, item func(*T)) {
	for i := range n {
		if c.reading {
			if c.err != nil {
				return
			}
			var empty T
			*list = append(*list, empty)
		}
		item(&(*list)[i])
	}
}

// AppendHistogram appends the encoding of a histogram, which may be nil, to b. It returns the
// extended slice.
func AppendHistogram(b []byte, h *Histogram) []byte {
	c := coder{b: b}
	c.histogram(&h)
	return c.b
}

// ReadHistogram decodes a histogram that AppendHistogram encoded. For nil and for an empty histogram
// it returns an empty histogram.
func ReadHistogram(b []byte) (*Histogram, error) {
	c := coder{b: b, reading: true, newHistogram: NewHistogram}
	h := c.readHistogram()
	if err := c.finish("a histogram"); err != nil {
		return nil, err
	}
	if h == nil {
		h = NewHistogram()
	}
	return h, nil
}

// histogram encodes or decodes a histogram: first the number of non-zero counts, then the counts.
// It decodes an empty histogram as nil.
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
		c.b = binary.AppendUvarint(binary.AppendUvarint(c.b, uint64(one.Index-last)), uint64(one.Count))
		last = one.Index
	}
}

func (c *coder) readHistogram() *Histogram {
	var n uint64
	c.number(&n, 1<<20)
	if n == 0 || c.err != nil {
		return nil
	}
	if c.histogramsRead++; c.histogramsRead > maxHistograms {
		c.fail(errTooManyHistograms)
		return nil
	}
	h := c.newHistogram()
	at := uint64(0)
	for i := range n {
		var gap, count uint64
		c.number(&gap, NumSteps)
		c.number(&count, maxCount)
		at += gap
		if i > 0 && gap == 0 || count == 0 || at >= NumSteps {
			c.fail(errCounts)
		}
		if c.err != nil {
			return nil
		}
		// cannot fail, because the histogram has every step
		_ = h.RecordValues(StepStart(int(at)), int64(count))
	}
	return h
}
