package capacity

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
)

var models = []struct {
	name string
	make func(seed uint64) *server
}{{"hard", hardLimit}, {"mm1", markovian}, {"stalls", stalling}, {"drift", drifting}}

func TestTune(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	for _, m := range models {
		if only := os.Getenv("M"); only != "" && only != m.name {
			continue
		}
		right, narrow, took, trials, width := 0, 0, 0.0, 0, 0.0
		status := map[Status]int{}
		for seed := range n {
			s := m.make(uint64(seed))
			c, r := s.search()
			if s.holds(r.Interval) {
				right++
			} else if os.Getenv("V") != "" {
				fmt.Printf("%s seed %d: %.1f in [%.1f %.1f] lower %.4f upper %.4f %s took %.0f\n", m.name, seed, s.truth(s.last), r.Lower, r.Upper, r.Lower/s.truth(0), r.Upper/s.truth(s.last), r.Status, s.last)
			}
			if os.Getenv("VV") != "" {
				for _, t := range c.Trials {
					fmt.Printf("  %s at %.0f rate %.1f (%.4f) window %.1f share %.5f over %v holds %v\n", t.Purpose, t.Began, t.Rate, t.Rate/s.truth(t.Began), t.Window, t.Share(0), t.Overloaded(), t.Holds(c.Goals))
				}
				fmt.Printf("   [%.4f %.4f] %s\n", r.Lower/s.truth(0), r.Upper/s.truth(0), r.Status)
			}
			if r.Width() <= 0.02 {
				narrow++
			}
			status[r.Status]++
			took += s.last
			trials += len(c.Trials)
			width += math.Min(r.Width(), 1)
		}
		f := float64(n)
		fmt.Printf("%s: right %d of %d, narrow %d, mean width %.4f, mean %.1f s, %.1f trials, %v\n", m.name, right, n, narrow, width/f, took/f, float64(trials)/f, status)
	}
}
