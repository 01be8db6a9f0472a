package record

import "testing"

// The percentage is exact if two decimals suffice. Otherwise, it is rounded down.
func TestPercent(t *testing.T) {
	for _, c := range []struct {
		part, total uint64
		want        string
	}{
		{57, 100, "57"}, {29, 100, "29"}, {1, 3, "33.33"}, {2, 3, "66.66"}, {99_999, 100_000, "99.99"}, {7, 7, "100"}, {0, 9, "0"}, {1234, 10_000, "12.34"},
	} {
		if got := percent(c.part, c.total); got != c.want {
			t.Errorf("percent(%d, %d) is %q, want %q", c.part, c.total, got, c.want)
		}
	}
}
