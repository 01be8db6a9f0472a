package text

import (
	"math"
	"testing"
)

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0 ns", 1: "1 ns", 999: "999 ns", 999.6: "1.00 µs", 1000: "1.00 µs", 1234: "1.23 µs", 9994: "9.99 µs", 9996: "10.0 µs",
		52_149: "52.1 µs", 99_960: "100 µs", 999_499: "999 µs", 999_500: "1.00 ms", 1_203_000: "1.20 ms", 52_149_000: "52.1 ms",
		999_499_999: "999 ms", 1e9: "1.00 s", 10e9: "10.0 s", 600e9: "600 s", 3600e9: "3600 s",
		-1: "-", math.Inf(1): "-",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%v) = %q, want %q", ns, got, want)
		}
	}
	if got := Duration(math.NaN()); got != "-" {
		t.Errorf("Duration(NaN) = %q", got)
	}
}

func TestPerSecond(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0/s", 0.25: "0.25/s", 3: "3/s", 87.26: "87.3/s", 99.96: "100/s", 999.6: "1,000/s", 18_612.3: "18,612/s", 1_234_567: "1,234,567/s", -1: "-",
	} {
		if got := PerSecond(x); got != want {
			t.Errorf("PerSecond(%v) = %q, want %q", x, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 123_456: "123,456", math.MaxUint64: "18,446,744,073,709,551,615"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 3240: "3,240", 12.5: "12.5", 1234.56: "1235", -3: "-3"} {
		if got := Number(x); got != want {
			t.Errorf("Number(%g) = %q, want %q", x, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 256: "256 B", 1023: "1023 B", 1024: "1.00 KiB", 48 << 20: "48.0 MiB", 8 << 30: "8.00 GiB", 1 << 62: "4194304 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestMeasuredSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "0 ms", 0.0041: "4 ms", 0.0999: "100 ms", 0.1806: "181 ms", 0.9996: "1 s", 1.374: "1.37 s", 2: "2 s", 12.36: "12.4 s", 150.2: "150 s"} {
		if got := MeasuredSeconds(s); got != want {
			t.Errorf("MeasuredSeconds(%v) = %q, want %q", s, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "0 s", 10: "10 s", 2.5: "2.5 s", 0.25: "250 ms", 4.99951: "5 s", 1234.5: "1234.5 s"} {
		if got := Seconds(s); got != want {
			t.Errorf("Seconds(%v) = %q, want %q", s, got, want)
		}
	}
}

func TestChange(t *testing.T) {
	for share, want := range map[float64]string{0: "+0.0 %", -0.0001: "+0.0 %", 0.25: "+25.0 %", -0.5: "-50.0 %", 21: "+2100.0 %"} {
		if got := SignedPercent(share); got != want {
			t.Errorf("SignedPercent(%v) = %q, want %q", share, got, want)
		}
	}
}

func TestJoinRange(t *testing.T) {
	for _, tt := range [][3]string{
		{"970/s", "1,030/s", "970–1,030/s"}, {"1.35 s", "1.66 s", "1.35–1.66 s"}, {"870 µs", "1.20 ms", "870 µs–1.20 ms"},
		{"1.49 s", "failed", "1.49 s–failed"}, {"failed", "failed", "failed–failed"}, {"3", "12", "3–12"}, {"-", "-", "-–-"}, {"0 ns", "64.4 ms", "0–64.4 ms"}, {"0 ns", "0 ns", "0–0 ns"},
	} {
		if got := JoinRange(tt[0], tt[1]); got != tt[2] {
			t.Errorf("JoinRange(%q, %q) = %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

func TestSuperscript(t *testing.T) {
	for n, want := range map[int]string{1: "¹", 2: "²", 9: "⁹", 10: "¹⁰", 123: "¹²³"} {
		if got := Superscript(n); got != want {
			t.Errorf("Superscript(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestKnown(t *testing.T) {
	for x, want := range map[float64]string{0: "0.00", 12.345678: "12.35", math.Inf(1): ""} {
		if got := CSVNumber(x, 2); got != want {
			t.Errorf("%v is %q", x, got)
		}
	}
	if got := CSVNumber(math.NaN(), 0); got != "" {
		t.Errorf("%q", got)
	}
}

func TestSmallShareIsNotZero(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.0039: "0.39 %", 0.00999: "1 %", 0.13: "13 %", 1.21: "121 %"} {
		if got := WholePercent(share); got != want {
			t.Errorf("%v is %q, want %q", share, got, want)
		}
	}
}
