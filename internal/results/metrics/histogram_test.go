package metrics

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// width is the ratio of the upper bound of a bucket to its lower bound.
var width = math.Exp2(1.0 / bucketsPerDoubling)

// written returns a histogram as Prometheus receives it.
func written(t testing.TB, n *native, table *bucketTable) *dto.Histogram {
	t.Helper()
	var m dto.Metric
	if err := n.metric(table, prometheus.NewDesc("h", "help", nil, nil), time.Unix(1, 0)).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetHistogram()
}

// countsOf decodes the positive buckets of a native histogram.
func countsOf(h *dto.Histogram) map[int]int64 {
	all, bucket, last, next := map[int]int64{}, 0, int64(0), 0
	for _, s := range h.GetPositiveSpan() {
		bucket += int(s.GetOffset())
		for range s.GetLength() {
			last += h.GetPositiveDelta()[next]
			next++
			if last != 0 {
				all[bucket] = last
			}
			bucket++
		}
	}
	return all
}

// drawn returns n random times in nanoseconds, whose magnitudes differ widely.
func drawn(rng *rand.Rand, n int) (all []int64) {
	low, high := rng.Float64()*10, 10+rng.Float64()*18
	for range n {
		all = append(all, int64(math.Min(math.Exp(low+rng.Float64()*(high-low)), measure.Highest)))
	}
	return all
}

// A native histogram counts each time in the bucket that contains the middle of the HDR step of
// that time. Each percentile differs from the percentile of the original times by at most the width
// of a bucket plus the width of a step.
func TestNativeHistogramHasTheTimesOfTheHDRHistogram(t *testing.T) {
	table := newBucketTable()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		times := drawn(rng, 1+rng.IntN(3000))
		h, want, sum := measure.NewHistogram(), map[int]int64{}, 0.0
		for _, ns := range times {
			measure.Record(h, ns)
			low := measure.StepFloor(ns)
			step := int64(1) << max(bits.Len64(uint64(ns))-11, 3)
			middle := float64(low+low+step) / 2e9
			want[int(math.Ceil(math.Log2(middle)*bucketsPerDoubling))]++
			sum += float64(ns) / 1e9
		}
		n := newNative(&table)
		n.add(&table, measure.NonEmptySteps(h))
		got := written(t, n, &table)
		if counts := countsOf(got); !equalCounts(counts, want) {
			t.Fatalf("seed %d: the buckets are %v, not %v", seed, counts, want)
		}
		if got.GetSampleCount() != uint64(len(times)) || got.GetSchema() != schema || got.GetZeroCount() != 0 {
			t.Errorf("seed %d: the histogram contains %v of %d times", seed, got.GetSampleCount(), len(times))
		}
		if off := math.Abs(got.GetSampleSum()-sum) / sum; off > 0.001 && math.Abs(got.GetSampleSum()-sum) > 4e-9*float64(len(times)) {
			t.Errorf("seed %d: the sum is %v, not %v", seed, got.GetSampleSum(), sum)
		}
		slices.Sort(times)
		for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999, 1} {
			exact := float64(times[int(math.Ceil(q*float64(len(times))))-1]) / 1e9
			if exact < 1e-6 { // the steps of the HDR histogram are wider than buckets
				continue
			}
			low, high := quantile(countsOf(got), q)
			if exact < low/1.008 || exact > high*1.008 { // a step of 8 ns is 0.8 % of a microsecond
				t.Errorf("seed %d: the quantile %v is %v, not between %v and %v", seed, q, exact, low, high)
			}
		}
	}
}

func equalCounts(a, b map[int]int64) bool {
	for k, n := range a {
		if b[k] != n {
			return false
		}
	}
	return len(a) == len(b)
}

// quantile returns the bounds of the bucket that contains the quantile q.
func quantile(counts map[int]int64, q float64) (low, high float64) {
	var keys []int
	total := int64(0)
	for k, n := range counts {
		keys = append(keys, k)
		total += n
	}
	slices.Sort(keys)
	rank, sum := int64(math.Ceil(q*float64(total))), int64(0)
	for _, k := range keys {
		if sum += counts[k]; sum >= rank {
			return upperBound(k - 1), upperBound(k)
		}
	}
	return math.NaN(), math.NaN()
}

// The table assigns each HDR step to the bucket that contains the middle of the step.
func TestBucketsContainTheirSteps(t *testing.T) {
	table := newBucketTable()
	for step := range measure.NumSteps {
		i := table.lowest + int(table.buckets[step])
		if m := middle(step); m > upperBound(i) || m <= upperBound(i-1) {
			t.Fatalf("step %d with the middle %v s is in bucket %d, from %v to %v", step, m, i, upperBound(i-1), upperBound(i))
		}
	}
	for i := -900; i < 400; i++ {
		if got := bucketOf(upperBound(i)); got != i {
			t.Errorf("the upper bound of bucket %d is in bucket %d", i, got)
		}
		if got := bucketOf(upperBound(i) * math.Sqrt(width)); got != i+1 {
			t.Errorf("a value above bucket %d is in bucket %d", i, got)
		}
	}
}
