package changepoint

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// QUORUMBENCH_ANNOTATED is the path of a folder with series that people annotated. Each file
// contains a JSON object with the fields name, values and annotations; annotations contains a list
// of change points for each annotator. The test logs the F1 score as defined by the Turing Change
// Point Dataset (van den Burg and Williams, 2020): the start of the series counts as a change, the
// precision is computed against the changes of all annotators together, and the recall is the mean
// over the annotators.
func TestAnnotatedSeries(t *testing.T) {
	dir := os.Getenv("QUORUMBENCH_ANNOTATED")
	if dir == "" {
		t.Skip("QUORUMBENCH_ANNOTATED names no folder")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var sums [3]float64
	count := 0.0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			Name        string    `json:"name"`
			Values      []float64 `json:"values"`
			Annotations [][]int   `json:"annotations"`
		}
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		positive := !slices.ContainsFunc(s.Values, func(v float64) bool { return v <= 0 })
		if positive {
			for i, v := range s.Values {
				s.Values[i] = math.Log(v)
			}
		} else { // the detector expects values on a scale of about 1
			_, deviation := meanAndDeviation(s.Values)
			for i := range s.Values {
				s.Values[i] /= 10 * deviation
			}
		}
		points := plain(s.Values)
		changes := find(points)
		if len(s.Annotations) == 0 {
			t.Logf("%s, %d points, no annotations: E-divisive %v", s.Name, len(points), divisive(points))
			for i, size := range Sizes(points, changes) {
				c := changes[i]
				t.Logf("    at %d (%d to %d), found with %d, kind %d until %d: %+.2f %% (%+.2f to %+.2f)", c.Index, c.Low, c.High, c.ConfirmedBy, c.Kind, c.LastDriftIndex,
					100*math.Expm1(size.Value), 100*math.Expm1(size.Low), 100*math.Expm1(size.High))
			}
			continue
		}
		var f [3]float64
		var all []int
		for _, c := range changes {
			all = append(all, c.Index)
		}
		for i, found := range [][]int{all, windows(points), divisive(points)} {
			f[i] = turing(found, s.Annotations)
			sums[i] += f[i]
		}
		count++
		t.Logf("%-20s %4d points  Find %.3f  t-test of windows %.3f  E-divisive %.3f", s.Name, len(points), f[0], f[1], f[2])
	}
	t.Logf("mean of %g series  Find %.3f  t-test of windows %.3f  E-divisive %.3f", count, sums[0]/count, sums[1]/count, sums[2]/count)
}

// turing returns the F1 score of the found changes, compared with the changes of several
// annotators.
func turing(found []int, annotators [][]int) float64 {
	withStart := func(list []int) []int { return slices.Compact(slices.Sorted(slices.Values(append([]int{0}, list...)))) }
	hits := func(found, truth []int) float64 {
		var s score
		s.add(found, truth)
		return float64(s.hits)
	}
	found = withStart(found)
	var union []int
	recall := 0.0
	for _, a := range annotators {
		union = append(union, a...)
		truth := withStart(a)
		recall += hits(found, truth) / float64(len(truth)) / float64(len(annotators))
	}
	precision := hits(found, withStart(union)) / float64(len(found))
	return 2 * precision * recall / (precision + recall)
}

func meanAndDeviation(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(deviation)
}
