package record

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The numbers of written keys and bytes, and the costs, are correct. Gets write nothing, a
// transaction writes several keys, and a delete writes no value. A compare-and-set whose condition
// does not hold, and a delete of a missing key, write nothing.
func TestStoreCostsMatchArithmetic(t *testing.T) {
	settle.SkipUnderRace(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := map[kv.Kind]uint64{}
		c := conditions()
		c.Prefix, c.KeySize, c.ValueSize, c.TxnKeys, c.Mix = "ab", 6, 100, 3, nil
		c.STM = &scenario.STM{KeysPerTxn: 5, WritePercent: 50}
		m := &measure.Totals{Seconds: 10}
		for _, kind := range []kv.Kind{kv.Put, kv.Get, kv.Delete, kv.CAS, kv.Txn, kv.STM} {
			c.Mix = append(c.Mix, scenario.Operation{Kind: kind, Weight: 1})
			n[kind] = 1 + uint64(rng.IntN(50))
			for range n[kind] {
				add(&cellOf(&m.Cells, measure.Series{Kind: kind}).Response, 1e6)
			}
			m.Due += n[kind]
		}
		conflicts, gone := min(n[kv.CAS], uint64(rng.IntN(9))), min(n[kv.Delete], uint64(rng.IntN(9)))
		m.Outcomes[kv.Conflict], m.Outcomes[kv.Miss], m.Misses[kv.Delete] = conflicts, gone, gone
		m.Outcomes[kv.OK] = m.Due - conflicts - gone
		// Twice as many operations were done in the window as became due in it.
		m.Done = 2 * m.Due
		written, grew, rss := int64(rng.IntN(1e6)), int64(rng.IntN(1e6)-5e5), int64(rng.IntN(1e6)-5e5)
		o := Observed{Store: &StoreUsage{WrittenBytes: &written, GrowthRSSBytes: rss}, DatabaseGrowth: &grew}
		trial := NewTrial(c, o, m, nil, nil)

		whole := n[kv.Put] + n[kv.CAS] - conflicts + 3*n[kv.Txn] + 2*n[kv.STM]
		deleted := n[kv.Delete] - gone
		keys, bytes := 2*(whole+deleted), 2*(108*whole+8*deleted)
		for _, tt := range []struct {
			name  string
			got   *float64
			want  float64
			known bool
		}{
			{"the number of written keys", toFloat(trial.KeysWritten), float64(keys), true},
			{"the size of written keys and values", toFloat(trial.UserBytes), float64(bytes), true},
			{"the number of bytes on disk", toFloat(trial.Written), float64(written), true},
			{"the write amplification", trial.Amplification, float64(written) / float64(bytes), true},
			{"the growth of the database", toFloat(trial.DatabaseGrowth), float64(grew), true},
			{"the growth of the memory", toFloat(trial.RSSGrowth), float64(rss), true},
			{"the disk space per key", trial.DiskPerKey, float64(grew) / float64(keys), grew > 0},
			{"the memory per key", trial.RSSPerKey, float64(rss) / float64(keys), rss > 0},
		} {
			if (tt.got != nil) != tt.known || tt.known && math.Abs(*tt.got-tt.want) > 1e-9*math.Abs(tt.want) {
				t.Errorf("%s is %v, not %v, %v", tt.name, measure.OrZero(tt.got), tt.want, tt.known)
			}
		}
	}
}

func toFloat[T uint64 | int64](x *T) *float64 {
	if x == nil {
		return nil
	}
	return new(float64(*x))
}

// Costs that are not known are not reported as 0. There are three cases: the load only reads, the
// members run on other machines and are not observed, or the data is in a file system in memory,
// for which no writes are counted.
func TestUnknownStoreCosts(t *testing.T) {
	written, grew := int64(1000), int64(2000)
	usage := &StoreUsage{WrittenBytes: &written}
	c := conditions()
	c.Mix = []scenario.Operation{{Kind: kv.Get, Consistency: kv.Local, Weight: 1}}
	reads := NewTrial(c, Observed{Store: usage, DatabaseGrowth: &grew}, stall(), nil, nil)
	if reads.StoreCosts != (StoreCosts{}) {
		t.Errorf("the costs of reads are %+v", reads.StoreCosts)
	}
	c.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	elsewhere := NewTrial(c, Observed{DatabaseGrowth: &grew}, stall(), nil, nil)
	if s := elsewhere.StoreCosts; s.Written != nil || s.Amplification != nil || s.RSSPerKey != nil || s.DiskPerKey == nil || *s.KeysWritten != 10_000 {
		t.Errorf("members elsewhere: %+v", s)
	}
	c.Durability = &measure.Durability{Volatile: true}
	volatile := NewTrial(c, Observed{Store: usage}, stall(), nil, nil)
	if s := volatile.StoreCosts; s.Written != nil || s.Amplification != nil || s.DatabaseGrowth != nil {
		t.Errorf("the costs of a store that keeps its data in memory are %+v", s)
	}
}
