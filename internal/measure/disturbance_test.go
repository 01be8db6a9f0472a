package measure

import "testing"

// Merging the parts yields the whole for any distribution of the values.
func TestDisturbanceMerges(t *testing.T) {
	var a, b, whole Disturbance
	for i := range 1000 {
		to := &a
		if i%3 == 0 {
			to = &b
		}
		for k, h := range to.histograms() {
			if k == i%5 {
				w := whole.histograms()[k]
				for _, into := range []**Histogram{h, w} {
					if *into == nil {
						*into = NewHistogram()
					}
					Record(*into, int64(i)*1000)
				}
			}
		}
		to.Idle += int64(i)
		whole.Idle += int64(i)
		to.RunWait += int64(i) * 7
		whole.RunWait += int64(i) * 7
	}
	a.merge(&b)
	for k, h := range a.histograms() {
		if !(*h).Equals(*whole.histograms()[k]) {
			t.Errorf("the merged histogram %d differs from the histogram of all operations", k)
		}
	}
	if a.Idle != whole.Idle || a.RunWait != whole.RunWait {
		t.Errorf("idle for %d and waiting for %d, want %d and %d", a.Idle, a.RunWait, whole.Idle, whole.RunWait)
	}
}
