package text

import "testing"

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int{
		"0": 0, "256": 256, "256B": 256, "1KB": 1000, "1kB": 1000, "1KiB": 1024, "1.5KiB": 1536, "2 MB": 2_000_000,
		"1MiB": 1 << 20, "1_000": 1000, "1GB": 1_000_000_000, "100TB": 1e14, "2TiB": 2 << 40,
	} {
		got, err := ParseSize(s)
		if err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", s, got, err, want)
		}
		if back, err := ParseSize(FormatSize(want)); err != nil || back != want {
			t.Errorf("%d is written %q, which reads as %d, %v", want, FormatSize(want), back, err)
		}
	}
	for s, want := range map[string]string{
		"":       `"" is not a size; write a size such as 256, 1KB, 1KiB or 1MB`,
		"KB":     `"KB" is not a size; write a size such as 256, 1KB, 1KiB or 1MB`,
		"1k":     `"1k" is not a size; write a size such as 256, 1KB, 1KiB or 1MB`,
		"1e3":    `"1e3" is not a size; write a size such as 256, 1KB, 1KiB or 1MB`,
		"-1KB":   "-1KB is negative; write a size of at least 0",
		"0.5":    "0.5 is not a whole number of bytes",
		"9999TB": "9999TB is more than 1024 TiB; write a smaller size",
	} {
		if _, err := ParseSize(s); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", s, err, want)
		}
	}
}
