package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// schema is the resolution of the native histograms. Each bucket is 2^(1/2^schema) times as wide as
// the previous bucket, that is, 2.2 % wider. The steps of an HDR histogram are at most 0.1 % wide.
const schema = 5

// bucketsPerDoubling is the number of buckets between a value and twice that value.
const bucketsPerDoubling = 1 << schema

// bucketOf returns the number of the native bucket that contains a positive value. Bucket i
// contains the values that are greater than 2^((i-1)/bucketsPerDoubling) and at most
// 2^(i/bucketsPerDoubling).
func bucketOf(seconds float64) int {
	i := int(math.Ceil(math.Log2(seconds) * bucketsPerDoubling))
	// Log2 is not exact, so the value may belong to a neighboring bucket.
	for seconds > upperBound(i) {
		i++
	}
	for seconds <= upperBound(i-1) {
		i--
	}
	return i
}

// upperBound returns the highest value of a bucket.
func upperBound(i int) float64 { return math.Exp2(float64(i) / bucketsPerDoubling) }

// bucketTable assigns each step of an HDR histogram to the native bucket that contains the middle
// of the step. It is not modified after its creation.
type bucketTable struct {
	lowest  int     // number of the bucket of step 0
	buckets []int16 // by step: number of the bucket minus lowest
	size    int     // number of buckets
}

// newBucketTable returns the table for the steps of package measure.
func newBucketTable() bucketTable {
	t := bucketTable{buckets: make([]int16, measure.NumSteps)}
	t.lowest = bucketOf(middle(0))
	for step := range t.buckets {
		t.buckets[step] = int16(bucketOf(middle(step)) - t.lowest) // #nosec G115 -- there are about 1,300 buckets
	}
	t.size = int(t.buckets[measure.NumSteps-1]) + 1
	return t
}

// middle returns the middle of a step in seconds.
func middle(step int) float64 {
	return float64(measure.StepStart(step)+measure.StepStart(step+1)) / 2e9
}

// native accumulates the counts of a native histogram.
type native struct {
	counts []uint64 // by number of the bucket minus bucketTable.lowest
	count  uint64
	sum    float64 // in seconds
}

func newNative(t *bucketTable) *native { return &native{counts: make([]uint64, t.size)} }

// add adds the times of an HDR histogram. The parameter `steps` contains the steps of this
// histogram.
func (n *native) add(t *bucketTable, steps measure.Steps) {
	for _, step := range steps.NonEmpty {
		times := uint64(step.Count) // #nosec G115 -- positive
		n.counts[t.buckets[step.Index]] += times
		n.count += times
		n.sum += middle(step.Index) * float64(times)
	}
}

// metric returns the histogram as a Prometheus metric.
func (n *native) metric(t *bucketTable, d *prometheus.Desc, began time.Time, labels ...string) prometheus.Metric {
	buckets := map[int]int64{}
	for i, times := range n.counts {
		if times > 0 {
			buckets[t.lowest+i] = int64(times) // #nosec G115 -- a number of operations
		}
	}
	m, err := prometheus.NewConstNativeHistogram(d, n.count, n.sum, buckets, nil, 0, schema, prometheus.DefNativeHistogramZeroThreshold, began, labels...)
	if err != nil { // cannot happen, because the counts are consistent
		return prometheus.NewInvalidMetric(d, err)
	}
	return m
}
