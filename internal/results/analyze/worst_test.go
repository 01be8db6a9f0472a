package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// The marked figures of a column are those that no other known figure is worse than, unless all
// known figures are equal.
func TestMarkWorst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		better := []record.Direction{record.NoDirection, record.HigherIsBetter, record.LowerIsBetter}[random.IntN(3)]
		rows := make([][]Cell, random.IntN(6))
		badness := make([]float64, len(rows)) // of a known figure, higher is worse
		known := map[float64]bool{}
		for i := range rows {
			v := record.Value{Known: random.IntN(4) > 0, Number: float64(random.IntN(3))}
			v.Failed = v.Known && random.IntN(6) == 0
			rows[i] = []Cell{{}, {Value: v}}
			switch badness[i] = v.Number; {
			case v.Failed:
				badness[i] = 100
			case better == record.HigherIsBetter:
				badness[i] = -v.Number
			case better == record.NoDirection:
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
