package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/figures"
)

// TestMarkWorst checks figures that are equal or differ by more than the margin. A figure is marked
// if no other known figure in its column is worse. If all known figures are equal, no figure is
// marked.
func TestMarkWorst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		better := []figures.Direction{figures.NoDirection, figures.HigherIsBetter, figures.LowerIsBetter}[random.IntN(3)]
		rows := make([][]Cell, random.IntN(6))
		badness := make([]float64, len(rows)) // of a known figure, higher is worse
		known := map[float64]bool{}
		for i := range rows {
			v := figures.Value{Known: random.IntN(4) > 0, Number: float64(random.IntN(3))}
			v.Failed = v.Known && random.IntN(6) == 0
			rows[i] = []Cell{{}, {Value: v}}
			switch badness[i] = v.Number; {
			case v.Failed:
				badness[i] = 100
			case better == figures.HigherIsBetter:
				badness[i] = -v.Number
			case better == figures.NoDirection:
				badness[i] = 0
			}
			if v.Known {
				known[badness[i]] = true
			}
		}
		markWorst(rows, 1, better)
		for i, row := range rows {
			want := row[1].Value.Known && len(known) > 1
			for b := range known {
				want = want && badness[i] >= b
			}
			if row[1].Worst != want || row[0].Worst {
				t.Fatalf("better %d: row %d of %+v is worst: %v, not %v", better, i, rows, row[1].Worst, want)
			}
		}
	}
}

// TestMarkWorstOnlyIfClear checks that no figure is marked if the figures differ by at most the
// margin of comparisons or have overlapping intervals. A figure that is about as bad as the worst
// figure is marked, too.
func TestMarkWorstOnlyIfClear(t *testing.T) {
	row := func(n float64, c *Certainty) []Cell {
		return []Cell{{Value: figures.Value{Known: true, Number: n}}, {Kind: CertaintyCell, Certainty: c}}
	}
	between := func(low, high float64) *Certainty {
		return &Certainty{Low: figures.Value{Known: true, Number: low}, High: figures.Value{Known: true, Number: high}}
	}
	for name, test := range map[string]struct {
		rows [][]Cell
		want []bool
	}{
		"inside the margin":   {[][]Cell{row(100, nil), row(102.9, nil)}, []bool{false, false}},
		"outside the margin":  {[][]Cell{row(100, nil), row(103.1, nil)}, []bool{false, true}},
		"two bad figures":     {[][]Cell{row(100, nil), row(199, nil), row(200, nil)}, []bool{false, true, true}},
		"above 0":             {[][]Cell{row(0, nil), row(1, nil), row(0, nil)}, []bool{false, true, false}},
		"overlapping":         {[][]Cell{row(100, between(90, 120)), row(130, between(115, 140))}, []bool{false, false}},
		"not overlapping":     {[][]Cell{row(100, between(90, 110)), row(130, between(115, 140))}, []bool{false, true}},
		"one interval":        {[][]Cell{row(100, nil), row(130, between(90, 140))}, []bool{false, true}},
		"a run was too short": {[][]Cell{row(100, between(90, 120)), row(130, &Certainty{RunTooShort: true})}, []bool{false, true}},
	} {
		markWorst(test.rows, 0, figures.LowerIsBetter)
		for i, row := range test.rows {
			if row[0].Worst != test.want[i] {
				t.Errorf("%s: row %d is worst: %v, not %v", name, i, row[0].Worst, test.want[i])
			}
		}
	}
}
