package measure

import (
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// If each write causes events at several watchers, a percentile of the events is known only if the
// number of writes is large enough for this percentile. The values of the known percentiles do not
// change.
func TestGroupedKeepsPercentilesThatCausesSupport(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		writes, each := 1+r.IntN(20_000), 1+r.IntN(20)
		one, all := NewHistogram(), NewHistogram()
		for range writes {
			ns := int64(1e6 * (1 + r.ExpFloat64()))
			for i := range each {
				if i == 0 {
					_ = one.RecordValue(ns)
				}
				_ = all.RecordValue(ns)
			}
		}
		ofWrites, ofEvents, grouped := Summarize(one, 0), Summarize(all, 0), Summarize(all, 0).DropUnsupported(uint64(each))
		for i, p := range Percentiles {
			if f := grouped.Percentiles[i]; f.Known != ofWrites.Percentiles[i].Known || f.Known && f != ofEvents.Percentiles[i] {
				t.Fatalf("p%v of %d writes with %d events each is %+v, and the percentile of the writes is %+v", p, writes, each, f, ofWrites.Percentiles[i])
			}
		}
		if Summarize(all, 0).DropUnsupported(1).Percentiles != ofEvents.Percentiles {
			t.Fatalf("the percentiles of %d events change if each event belongs to its own write", writes*each)
		}
	}
	// 200 puts that cause 100 events each have no p99, because 200 puts are too few for a p99.
	if Supports(99, 200) || !Supports(99, 1000) || Supports(90, 99) || !Supports(90, 100) || Supports(50, 0) {
		t.Error("Supports must require ten samples beyond a percentile")
	}
}
