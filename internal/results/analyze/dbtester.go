package analyze

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Dbtester is what dbtester's outputs say of one trial.
type Dbtester struct {
	Trial   *record.Trial
	Rates   Throughputs
	Servers Servers
	// ClientCPU is the processors that the generator used on average.
	ClientCPU record.Value
	Seconds   []DbtesterSecond
	Bins      []Bin  // of the successes
	Failed    uint64 // the others
	Keys      KeyTable
}

// DbtesterSecond is one second of the window. Of one that is Missing nothing but
// its time is recorded.
type DbtesterSecond struct {
	Unix    int64
	Missing bool
	Clients int // 0 in an open loop
	Errors  uint64
	// Times of everything due in the second, and of the successes alone.
	Min, Mean, Max, SuccessMean, SuccessMax record.Value
	PerSecond                               record.Value
}

// DbtesterOf reads a trial's seconds in the run directory dir. Its error says
// that they are not those of the result.
func DbtesterOf(dir string, t *record.Trial) (*Dbtester, error) {
	d := &Dbtester{Trial: t}
	keys, whole := &Keys{}, measure.NewHistogram()
	err := EachSecond(dir, t, func(s *Second) error {
		keys.Add(s)
		d.Rates.Add(s)
		whole = measure.Add(whole, s.Times)
		d.Failed += s.Errors
		d.Seconds = append(d.Seconds, dbtesterSecond(s))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if got := uint64(whole.TotalCount()); t.State == record.Complete && (got != t.Operations || d.Failed != t.Errors) {
		return nil, fmt.Errorf("the seconds of %s hold %d operations and %d errors, and its result %d and %d; the record is damaged", t.Folder, got, d.Failed, t.Operations, t.Errors)
	}
	d.Keys, d.Bins = keys.Table(), Bins(whole)
	if t.Seconds > 0 {
		d.ClientCPU = record.Value{Number: t.CPUSeconds / t.Seconds, Unit: measure.Share, Known: true}
	}
	d.Servers, err = ServersOf(dir, t)
	return d, err
}

func dbtesterSecond(s *Second) DbtesterSecond {
	out := DbtesterSecond{Unix: s.Time.Unix(), Missing: s.Missing, Clients: s.Clients, Errors: s.Errors}
	if s.Missing {
		return out
	}
	all, succeeded := measure.Summarize(s.Times, s.Errors), measure.Summarize(s.Times, 0)
	out.Min, out.Mean, out.Max = record.TimeValue(all.Min), record.TimeValue(all.Mean), record.TimeValue(all.Max)
	out.SuccessMean, out.SuccessMax = record.TimeValue(succeeded.Mean), record.TimeValue(succeeded.Max)
	if rate, ok := s.PerSecond(); ok {
		out.PerSecond = perSecond(rate)
	}
	return out
}

// Throughputs are operations a second over the whole seconds of a window. None
// is known where no second is whole.
type Throughputs struct {
	Max, Mean, Min record.Value
	seconds        int
	done           uint64
}

// Add takes the next second.
func (t *Throughputs) Add(s *Second) {
	rate, ok := s.PerSecond()
	if !ok || !s.Whole {
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

func perSecond(rate float64) record.Value {
	return record.Value{Number: rate, Unit: measure.Rate, Known: true}
}
