package record

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// The cookies of HdrHistogram's V2 encoding, whose counts are of variable size.
const (
	compressedCookie = 0x1c849304 | 0x10
	plainCookie      = 0x1c849303 | 0x10
	plainHeader      = 40 // bytes
)

// encoder writes histograms in HdrHistogram's compressed V2 encoding, as the
// library does, at a fraction of its cost: the log is written beside the load that
// it describes. It is used again and again, by one goroutine.
type encoder struct {
	packed bytes.Buffer
	zip    *zlib.Writer
}

// appendTo appends the histogram in base64.
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

// appendCounts appends counts as zigzag varints; a run of zeros is one negative
// number. (HdrHistogram's varints differ from binary's only from the ninth byte
// on, which a count reaches at 2^55.)
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

// appendInterval appends a line of the log: times in seconds, the largest value
// in milliseconds.
func (e *encoder) appendInterval(b []byte, tag string, start, length float64, h *measure.Histogram) ([]byte, error) {
	b = fmt.Appendf(b, "Tag=%s,%.3f,%.3f,%.6f,", tag, start, length, float64(h.ValueAtPercentile(100))/1e6)
	b, err := e.appendTo(b, h)
	return append(b, '\n'), err
}
