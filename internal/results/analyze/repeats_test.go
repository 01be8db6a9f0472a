package analyze

import (
	"strconv"
	"testing"
)

// How many of the tests are expected to show a difference by chance reads as one
// in twenty, and not as binary fractions have it.
func TestTestsByChance(t *testing.T) {
	c := &Comparison{}
	for n := 1; n <= 200; n++ {
		p := Pair{Figures: []Compared{{Change: Change{Interval: true}}, {Change: Change{}}}}
		c.Pairs = append(c.Pairs, p)
		made, byChance := c.Tests()
		want := strconv.FormatFloat(float64(5*n)/100, 'f', -1, 64)
		if got := strconv.FormatFloat(byChance, 'f', -1, 64); made != n || got != want || len(got) > len("10.05") {
			t.Errorf("%d intervals: %d tests, %s by chance, want %s", n, made, got, want)
		}
	}
}
