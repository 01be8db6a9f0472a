package record

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/klauspost/compress/zlib"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// The cookies that identify histograms in HdrHistogram's V2 encoding. In this encoding, counts have
// a variable size.
const (
	compressedCookie = 0x1c849304 | 0x10
	plainCookie      = 0x1c849303 | 0x10
	plainHeader      = 40 // bytes
)

// encoder writes histograms in HdrHistogram's compressed V2 encoding. It replaces the library's
// encoder and is many times faster, because the log is written while the load is running. An
// encoder can be reused, but is not safe for concurrent use.
type encoder struct {
	packed bytes.Buffer
	zip    *zlib.Writer
}

// appendTo appends the encoded histogram in base64.
func (e *encoder) appendTo(b []byte, h *measure.Histogram) ([]byte, error) {
	counts := h.Export().Counts
	last := len(counts)
	for last > 0 && counts[last-1] == 0 {
		last--
	}
	payload := appendCounts(make([]byte, plainHeader, plainHeader+last), counts[:last])
	binary.BigEndian.PutUint32(payload, plainCookie)
	binary.BigEndian.PutUint32(payload[4:], uint32(len(payload)-plainHeader))
	binary.BigEndian.PutUint32(payload[8:], 0) // the counts are not rotated
	binary.BigEndian.PutUint32(payload[12:], uint32(h.SignificantFigures()))
	binary.BigEndian.PutUint64(payload[16:], uint64(h.LowestTrackableValue()))
	binary.BigEndian.PutUint64(payload[24:], uint64(h.HighestTrackableValue()))
	binary.BigEndian.PutUint64(payload[32:], math.Float64bits(1))

	e.packed.Reset()
	e.packed.Write(make([]byte, 8))
	if e.zip == nil {
		var err error
		if e.zip, err = zlib.NewWriterLevel(&e.packed, zlib.BestSpeed); err != nil {
			return b, err
		}
	} else {
		e.zip.Reset(&e.packed)
	}
	if _, err := e.zip.Write(payload); err != nil {
		return b, err
	}
	if err := e.zip.Close(); err != nil {
		return b, err
	}
	out := e.packed.Bytes()
	binary.BigEndian.PutUint32(out, compressedCookie)
	binary.BigEndian.PutUint32(out[4:], uint32(len(out)-8))
	return base64.StdEncoding.AppendEncode(b, out), nil
}

// appendCounts appends counts as zigzag varints. Several zeros in a row become one negative number.
// (HdrHistogram's varints differ from those of encoding/binary only in the ninth byte. Counts below
// 2^55 do not need this byte.)
func appendCounts(b []byte, counts []int64) []byte {
	for i := 0; i < len(counts); {
		if counts[i] != 0 {
			b = binary.AppendVarint(b, counts[i])
			i++
			continue
		}
		zeros := i
		for i < len(counts) && counts[i] == 0 {
			i++
		}
		if zeros = i - zeros; zeros == 1 {
			b = append(b, 0)
		} else {
			b = binary.AppendVarint(b, int64(-zeros))
		}
	}
	return b
}

// appendInterval appends a line of the log. The times start and length are in seconds. The largest
// value in the line is in milliseconds.
func (e *encoder) appendInterval(b []byte, tag string, start, length float64, h *measure.Histogram) ([]byte, error) {
	b = fmt.Appendf(b, "Tag=%s,%.3f,%.3f,%.6f,", tag, start, length, float64(h.ValueAtPercentile(100))/1e6)
	b, err := e.appendTo(b, h)
	return append(b, '\n'), err
}

// decoder reads histograms in HdrHistogram's compressed V2 encoding. It can be reused and is not
// safe for concurrent use.
type decoder struct {
	packed  []byte
	source  bytes.Reader
	zip     io.ReadCloser // and zlib.Resetter
	payload bytes.Buffer
}

// read decodes a histogram from base64. It is many times faster than the library. If decodeFast
// cannot decode the data, read calls the library to get an error with the reason.
func (d *decoder) read(text []byte, steps *measure.Steps) error {
	if d.decodeFast(text, steps) {
		return nil
	}
	if _, err := hdr.Decode(text); err != nil {
		return fmt.Errorf("cannot decode the histogram: %w", err)
	}
	return errors.New("the value steps or the counts of the histogram differ from those that quorumbench writes")
}

// decodeFast decodes a histogram that quorumbench wrote. It returns false if the data is anything
// else.
func (d *decoder) decodeFast(text []byte, steps *measure.Steps) bool {
	var err error
	if d.packed, err = base64.StdEncoding.AppendDecode(d.packed[:0], text); err != nil || len(d.packed) < 8 ||
		binary.BigEndian.Uint32(d.packed) != compressedCookie || int(binary.BigEndian.Uint32(d.packed[4:])) != len(d.packed)-8 {
		return false
	}
	d.source.Reset(d.packed[8:])
	if d.zip == nil {
		d.zip, err = zlib.NewReader(&d.source)
	} else {
		err = d.zip.(zlib.Resetter).Reset(&d.source, nil)
	}
	if err != nil {
		return false
	}
	// Read to the end of the data, because the checksum is there. Stop after the size of the
	// largest possible histogram.
	d.payload.Reset()
	if _, err := d.payload.ReadFrom(io.LimitReader(d.zip, plainHeader+maxPayload+1)); err != nil {
		return false
	}
	b := d.payload.Bytes()
	if len(b) < plainHeader || len(b) > plainHeader+maxPayload || binary.BigEndian.Uint32(b) != plainCookie ||
		int(binary.BigEndian.Uint32(b[4:])) != len(b)-plainHeader || binary.BigEndian.Uint32(b[12:]) != measure.Digits ||
		binary.BigEndian.Uint64(b[16:]) != measure.Lowest || binary.BigEndian.Uint64(b[24:]) != measure.Highest {
		return false
	}
	steps.NonEmpty, err = readCounts(steps.NonEmpty[:0], b[plainHeader:])
	return err == nil
}

// maxPayload is the maximum size of a histogram's counts. A count has at most nine bytes.
const maxPayload = 9 * measure.NumSteps

// maxTimes is the highest count that is accepted. It is far above the count of any interval, and
// low enough to prevent an overflow of sums. HdrHistogram and encoding/binary encode numbers up to
// this limit in the same way.
const maxTimes = 1 << 44

var errCounts = errors.New("the data does not contain the counts of a histogram")

// readCounts decodes the counts that appendCounts encoded.
func readCounts(steps []measure.Step, b []byte) ([]measure.Step, error) {
	for i, at := 0, 0; i < len(b); {
		if c := b[i]; c&0x81 == 0 && at < measure.NumSteps { // fast path: most counts are small and have a single byte
			if c != 0 {
				steps = append(steps, measure.Step{Index: at, Count: int64(c >> 1)})
			}
			at++
			i++
			continue
		}
		n, used := binary.Varint(b[i:])
		switch {
		case used <= 0 || n > maxTimes || n < int64(at-measure.NumSteps) || n >= 0 && at == measure.NumSteps:
			return steps, errCounts
		case n < 0:
			at -= int(n)
		default:
			if n > 0 {
				steps = append(steps, measure.Step{Index: at, Count: n})
			}
			at++
		}
		i += used
	}
	return steps, nil
}
