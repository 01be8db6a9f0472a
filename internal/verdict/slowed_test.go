package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// timed sets the operations' headline times.
func timed(f *Figures, times []float64) {
	h := measure.NewHistogram()
	for _, ns := range times {
		measure.Record(h, int64(ns))
	}
	f.Headline, f.Merged.Service = measure.Summarize(h, 0), h
}

// A server sleeps for 20 ms and uses a CPU for 50 µs. No matter how much of these 50 µs the
// hypervisor withholds, a response time of 21.5 ms cannot be two thirds too high.
func TestStealOnAnIdleMachineHasLittleEffect(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	var times []float64
	for range 10_000 {
		times = append(times, 20.1e6+1.4e6*2*r.Float64())
	}
	f := good()
	timed(&f, times)
	f.Added, f.Measured.LongestPause = added(0, 0, 0), 5e6
	f.StolenShare, f.BusyShare, f.Machine, f.MembersOnMachine = 0.195, 0.105, &measure.Machine{CPUs: 2}, true
	f.MembersBusy, f.OperationCPUNS = 0.05, 50_000
	v := Judge(f)
	if e := v.Effect.ForFigure("p50"); e > 1.5/20 || e > v.Effect.ForFigure("p99.9")+0.05 {
		t.Errorf("p50 of 21.5 ms may be %v too high on an idle machine with a steal of one fifth", e)
	}
	if e := v.Effect.ForFigure("ops"); e > 0.08 {
		t.Errorf("throughput may be %v too low", e)
	}
	// This store uses the CPUs all the time.
	f.StolenShare, f.BusyShare, f.MembersBusy, f.OperationCPUNS = 0.2, 0.8, 0.75, 20e6
	if e := Judge(f).Effect.ForFigure("p50"); e < 0.18 {
		t.Errorf("p50 may be %v too high for a busy store with a steal of one fifth", e)
	}
	// Here, other programs use all CPUs of the machine.
	f.StolenShare, f.BusyShare, f.ForeignKnown, f.ForeignShare, f.MembersBusy, f.OperationCPUNS = 0, 1, true, 0.9, 0.05, 50_000
	if v := Judge(f); v.Effect.ForFigure("p50") > 0.08 || v.Effect.ForFigure("p50") == 0 {
		t.Errorf("other programs made p50 of a server that sleeps %v too high", v.Effect.ForFigure("p50"))
	}
}

// Some operations encounter a long pause, and the CPU work of all operations takes longer. No
// figure deviates by more than the bound.
func TestEffectOfPausesAndCPUWorkHasAnUpperBound(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(2, 4))
	for range 60 {
		sleep, work, spread := 20e6*r.Float64(), 5e6*r.Float64()*r.Float64(), 0.6*r.Float64()
		away := 0.3 * r.Float64() * r.Float64()
		span := 50e6 * r.Float64()
		var without, with []float64
		for range 20_000 {
			own := sleep*math.Exp(spread*r.NormFloat64()) + 50_000
			without = append(without, own+work)
			own += work / (1 - away)
			if r.Float64() < away {
				own += span * r.Float64()
			}
			with = append(with, own)
		}
		f := good()
		timed(&f, with)
		f.Added, f.Measured.LongestPause, f.OperationCPUNS, f.MembersBusy = added(0, 0, 0), int64(span), work, 0.01
		e := f.missingCPUEffect(missingCPU{away, away, f.MembersBusy, span})
		slices.Sort(without)
		slices.Sort(with)
		for name, p := range map[string]float64{"p50": 50, "p90": 90, "p95": 95, "p99": 99, "p99.9": 99.9} {
			at := int(p / 100 * float64(len(with)))
			if off := with[at]/without[at] - 1; off > e.ForFigure(name)*1.2+0.03 { // leaves room for chance
				t.Errorf("%s is %.3f too high, above the bound %.3f: operations slept for %.0f ns and worked for %.0f ns, with %.3f of the CPU time missing in pauses of up to %.0f ns", name, off, e.ForFigure(name), sleep, work, away, span)
			}
		}
		mean := func(all []float64) (sum float64) {
			for _, x := range all {
				sum += x / float64(len(all))
			}
			return sum
		}
		off := mean(with)/mean(without) - 1
		if off > e.ForFigure("mean")*1.1+0.03 || off/(1+off) > e.ForFigure("ops")+0.03 {
			t.Errorf("the mean is %.3f too high, above the bound %.3f", off, e.ForFigure("mean"))
		}
		// If more CPU time is missing, the bound never becomes lower.
		more := f.missingCPUEffect(missingCPU{away * 1.2, away * 1.2, f.MembersBusy, span})
		for i := range e.Times {
			if more.Times[i] < e.Times[i]-1e-9 {
				t.Errorf("%s: the bound is %.4f with the share %.3f of missing time, but only %.4f with more missing time", timeNames()[i], e.Times[i], away, more.Times[i])
			}
		}
	}
	if (good().zero()) != (Effect{}) {
		t.Error("a trial without missing time has an effect")
	}
}

func (f Figures) zero() Effect { return f.missingCPUEffect(missingCPU{}) }
