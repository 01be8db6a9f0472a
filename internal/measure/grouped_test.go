package measure

import (
	"math/rand/v2"
	"testing"
)

// Events of one write at several watchers support only the percentiles that the writes support,
// with unchanged values.
func TestGroupedKeepsPercentilesThatCausesSupport(t *testing.T) {
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
		ofWrites, ofEvents, grouped := Summarize(one, 0), Summarize(all, 0), Summarize(all, 0).Grouped(uint64(each))
		for i, p := range Percentiles {
			if f := grouped.Percentiles[i]; f.Known != ofWrites.Percentiles[i].Known || f.Known && f != ofEvents.Percentiles[i] {
				t.Fatalf("p%v of %d writes with %d events each: %+v, and %+v of the writes", p, writes, each, f, ofWrites.Percentiles[i])
			}
		}
		if Summarize(all, 0).Grouped(1).Percentiles != ofEvents.Percentiles {
			t.Fatalf("%d events of as many writes have other percentiles", writes*each)
		}
	}
	// 200 puts with 100 events each do not support p99, because 200 puts do not.
	if Supports(99, 200) || !Supports(99, 1000) || Supports(90, 99) || !Supports(90, 100) || Supports(50, 0) {
		t.Error("ten samples must be beyond a percentile")
	}
}
