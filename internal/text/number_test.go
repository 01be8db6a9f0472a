package text

import "testing"

func TestDurationsOfEachUnit(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0 ns", 63: "63 ns", 1234: "1.23 µs", 999_600: "1.00 ms", 52_149_000: "52.1 ms", 3.2e9: "3.20 s", 999.9e9: "1000 s",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%v) = %s, want %s", ns, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0 %", 1: "100 %", 0.5714: "57 %", 0.8: "80 %", 0.001: "0.1 %", 0.000_153: "0.015 %", 0.000_000_1: "0.00001 %",
		0.994: "99 %", 0.9951: "99.5 %", 0.9999: "99.9 %", 0.99999999: "99.9 %", 0.9949: "99 %",
	} {
		if got := Share(share); got != want {
			t.Errorf("Share(%v) = %q, want %q", share, got, want)
		}
	}
}
