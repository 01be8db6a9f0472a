package measure

import (
	"strconv"
	"testing"
)

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0 ns", 63: "63 ns", 1234: "1.23 µs", 999_600: "1.00 ms", 52_149_000: "52.1 ms", 3.2e9: "3.20 s", 999.9e9: "1000 s",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%v) = %s, want %s", ns, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0 %", 1: "100 %", 0.5714: "57 %", 0.8: "80 %", 0.001: "0.1 %", 0.000_153: "0.015 %", 0.000_000_1: "0.00001 %",
		0.994: "99 %", 0.9951: "99.5 %", 0.9999: "99.9 %", 0.99999999: "99.9 %", 0.9949: "99 %",
	} {
		if got := Percent(share); got != want {
			t.Errorf("Percent(%v) = %q, want %q", share, got, want)
		}
	}
}

// What is written is never 100, and every percentile above it is above the one
// meant, and close to it.
func TestPercentileText(t *testing.T) {
	for p, want := range map[float64]string{
		0: "0", 49.3: "49.3", 90: "90", 97.1: "97.1", 100 * 10050.0 / 10350: "97.11", 99.9: "99.9", 99.94: "99.94", 99.9995: "99.9995",
	} {
		if got := PercentileText(p); got != want {
			t.Errorf("%v is written as %s, not %s", p, got, want)
		}
	}
	for due := uint64(1); due < 1e15; due = due*3 + 1 {
		for _, failed := range []uint64{1, 2, due/7 + 1} {
			if failed >= due {
				continue
			}
			p, _ := FailedFrom(due-failed, failed)
			got, err := strconv.ParseFloat(PercentileText(p), 64)
			if err != nil || got >= 100 || got < p-1e-6*(100-p)-1e-9 || got-p > 0.02*(100-p) {
				t.Errorf("%d of %d failed: %v is written as %s", failed, due, p, PercentileText(p))
			}
		}
	}
}
