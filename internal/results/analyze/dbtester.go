package analyze

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Dbtester holds the content of dbtester's output files for one trial.
type Dbtester struct {
	Trial     *record.Trial
	Rates     Throughputs
	ServerUse Servers
	// ClientCPU is the mean number of CPUs that the load generator used.
	ClientCPU figures.Value
	Seconds   []DbtesterSecond
	Bins      []Bin  // latency distribution of the successes
	Failed    uint64 // number of failed operations
	Keys      KeyTable
}

// DbtesterSecond is a one-second interval of the window. If Missing is set, only the time of the
// interval is known.
type DbtesterSecond struct {
	Unix    int64
	Missing bool
	Clients int // 0 in an open loop
	Errors  uint64
	// Times of the operations that became due in this second. Min, Mean and Max include failures;
	// SuccessMean and SuccessMax do not.
	Min, Mean, Max, SuccessMean, SuccessMax figures.Value
	PerSecond                               figures.Value
}

// DbtesterOf reads the seconds of a trial's window. It returns an error if their sums contradict
// the trial's result.
func DbtesterOf(t *record.Trial) (*Dbtester, error) {
	d := &Dbtester{Trial: t}
	keys, sum := &Keys{}, &measure.Sum{}
	err := EachSecond(t, func(s *Second) error {
		keys.Add(s)
		d.Rates.Add(s)
		sum.Merge(s.Times)
		d.Failed += s.Errors
		d.Seconds = append(d.Seconds, dbtesterSecond(s))
		return nil
	})
	if err != nil {
		return nil, err
	}
	whole := sum.Histogram()
	if got := uint64(whole.TotalCount()); t.State == record.Complete && (got != t.Operations || d.Failed != t.Errors) {
		return nil, fmt.Errorf("the one-second intervals of %s contain %d operations and %d errors, but the trial's result contains %d and %d; the record is damaged", t.Folder, got, d.Failed, t.Operations, t.Errors)
	}
	d.Keys, d.Bins = keys.Table(), Bins(whole)
	if t.Seconds > 0 {
		d.ClientCPU = figures.Value{Number: t.CPUSeconds / t.Seconds, Unit: measure.Share, Known: true}
	}
	d.ServerUse, err = ServersOf(t, d.Keys.Rows)
	return d, err
}

func dbtesterSecond(s *Second) DbtesterSecond {
	out := DbtesterSecond{Unix: s.Time.Unix(), Missing: s.Missing, Clients: s.Clients, Errors: s.Errors}
	if s.Missing {
		return out
	}
	least, mean, most := s.Times.Fastest(), measure.Figure{}, s.Times.Slowest(0)
	if least.Known {
		mean = measure.Figure{NS: s.Times.Mean(), Known: true}
	}
	out.SuccessMean, out.SuccessMax = figures.TimeValue(mean), figures.TimeValue(most)
	if s.Errors > 0 {
		mean, most = measure.Figure{Failed: true}, measure.Figure{Failed: true}
		if !least.Known {
			least = mean
		}
	}
	out.Min, out.Mean, out.Max = figures.TimeValue(least), figures.TimeValue(mean), figures.TimeValue(most)
	if rate, ok := s.PerSecond(); ok {
		out.PerSecond = perSecond(rate)
	}
	return out
}

// Throughputs holds the highest, mean and lowest throughput in the complete seconds of a window, in
// operations per second. The values are unknown if there is no complete second.
type Throughputs struct {
	Max, Mean, Min figures.Value
	seconds        int
	done           uint64
}

// Add adds the next one-second interval.
func (t *Throughputs) Add(s *Second) {
	rate, ok := s.PerSecond()
	if !ok || !s.Complete {
		return
	}
	if t.seconds == 0 || rate > t.Max.Number {
		t.Max = perSecond(rate)
	}
	if t.seconds == 0 || rate < t.Min.Number {
		t.Min = perSecond(rate)
	}
	t.seconds++
	t.done += s.Done
	t.Mean = perSecond(float64(t.done) / float64(t.seconds))
}

func perSecond(rate float64) figures.Value {
	return figures.Value{Number: rate, Unit: measure.Rate, Known: true}
}

// BinWidth is the width of the bins in a latency distribution. The bins are wider if the slowest
// operation would need more than MaxRows bins.
const BinWidth = 10 * time.Millisecond

// Bin is the number of operations whose time is at least From and below To.
type Bin struct {
	From, To time.Duration
	Count    uint64
}

// Bins divides the operations in a histogram into bins of equal width, from 0 to the slowest
// operation. The sum of the counts equals the histogram's count. Times in the histogram have three
// significant digits, so an operation near the edge of a bin may be counted in the next bin.
func Bins(h *measure.Histogram) []Bin {
	if measure.Count(h) == 0 {
		return nil
	}
	width := BinWidth
	for step := 0; h.Max()/int64(width) >= MaxRows; step++ {
		width = nextRoundNumber(width, step)
	}
	bins := make([]Bin, h.Max()/int64(width)+1)
	for i := range bins {
		bins[i].From, bins[i].To = time.Duration(i)*width, time.Duration(i+1)*width
	}
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			bins[min(int(bar.From/int64(width)), len(bins)-1)].Count += uint64(bar.Count)
		}
	}
	// remove the empty bins at the end; rounding can assign the slowest operation to an earlier bin
	for bins[len(bins)-1].Count == 0 {
		bins = bins[:len(bins)-1]
	}
	return bins
}
