package measure

import (
	"strconv"
	"testing"

	"github.com/quorumbench/quorumbench/internal/text"
)

// The text of a percentile below 100 is never "100". It is never below the percentile, and always
// close to it.
func TestPercentileText(t *testing.T) {
	for p, want := range map[float64]string{
		0: "0", 49.3: "49.3", 90: "90", 97.1: "97.1", 100 * 10050.0 / 10350: "97.11", 99.9: "99.9", 99.94: "99.94", 99.9995: "99.9995",
	} {
		if got := text.Percentile(p); got != want {
			t.Errorf("%v is written as %s, want %s", p, got, want)
		}
	}
	for due := uint64(1); due < 1e15; due = due*3 + 1 {
		for _, failed := range []uint64{1, 2, due/7 + 1} {
			if failed >= due {
				continue
			}
			p, _ := FirstFailedPercentile(due-failed, failed)
			got, err := strconv.ParseFloat(text.Percentile(p), 64)
			if err != nil || got >= 100 || got < p-1e-6*(100-p)-1e-9 || got-p > 0.02*(100-p) {
				t.Errorf("%d of %d operations failed, and percentile %v is written as %s", failed, due, p, text.Percentile(p))
			}
		}
	}
}

func TestQuantityFormatsUnits(t *testing.T) {
	for _, test := range []struct {
		x    float64
		unit Unit
		want string
	}{
		{1.2e6, Nanoseconds, "1.20 ms"}, {0.25, Seconds, "250 ms"}, {18612, Rate, "18,612/s"}, {0.57, Share, "57 %"},
		{2048, Bytes, "2.00 KiB"}, {1.23456, Ratio, "1.235"}, {1000, Number, "1,000"},
	} {
		if got := test.unit.Quantity(test.x); got != test.want {
			t.Errorf("Quantity(%v) of unit %d = %q, want %q", test.x, test.unit, got, test.want)
		}
	}
}
