package measure

import "testing"

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0 ns", 63: "63 ns", 1234: "1.23 µs", 999_600: "1.00 ms", 52_149_000: "52.1 ms", 3.2e9: "3.20 s", 999.9e9: "1000 s",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%v) = %s, want %s", ns, got, want)
		}
	}
}
