package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/text"
)

// These are the limits of R28 and R29. A difference between workers must be larger than chance can
// explain, and large enough to matter.
const (
	// MinPace is a limit for the operations per client of a worker, as a fraction of the operations
	// per client of the other workers. R28 reports a worker at or below this limit.
	MinPace         = 0.75
	paceErrorFactor = 4
	// MaxMedianDistance is the largest allowed difference, as a fraction, between a worker's median
	// response time and that of other workers.
	MaxMedianDistance = 0.10
	// falseAlarmProbability is the probability that R29 reports a worker although all workers are
	// equal.
	falseAlarmProbability = 0.001
	minDistanceSeconds    = 3
)

// Worker is one of several workers that generated the load.
type Worker struct {
	Name string
	// Lost is the reason why the worker was lost before the end of the load, or empty.
	Lost string
	// StartDelayNS is the time from the start of the first worker's window to the start of this
	// worker's window.
	StartDelayNS int64
	// Pace compares this worker with the other workers at the same members during the same time.
	// Pace is the number of operations per client of this worker, divided by the same number for
	// the others. PaceError is the standard error of Pace. Both are 0 if unknown.
	Pace, PaceError float64
	// MedianDistances holds, for each second, the difference between the logarithms of this
	// worker's median response time and that of the other workers.
	MedianDistances []float64
	// Seconds is the length of the worker's window.
	Seconds float64
	// Generator holds the figures of the worker's own generator. R5 to R9 use them.
	Generator
}

// R26WorkerLost reports workers that were lost before the end, and hosts that were lost together
// with their members.
func R26WorkerLost(f *Figures) finding {
	for i := range f.Workers {
		if w := &f.Workers[i]; w.Lost != "" {
			return invalid("worker %s was lost, and its load ended: %s", w.Name, w.Lost)
		}
	}
	for i := range f.Hosts {
		if h := &f.Hosts[i]; h.Lost != "" {
			return invalid("host %s was lost with its members, and the load ended: %s", h.Name, h.Lost)
		}
	}
	return noFinding()
}

func hasLostWorker(f *Figures) bool {
	return slices.ContainsFunc(f.Workers, func(w Worker) bool { return w.Lost != "" })
}

// R27UnevenStart reports workers that began later than others. The operations that such a worker
// would have sent before it began are missing from the throughput.
func R27UnevenStart(f *Figures) finding {
	var last *Worker
	missing := 0.0
	for i := range f.Workers {
		w := &f.Workers[i]
		missing += float64(w.StartDelayNS)
		if last == nil || w.StartDelayNS > last.StartDelayNS {
			last = w
		}
	}
	if last == nil || f.Seconds <= 0 {
		return noFinding()
	}
	e := Effect{Throughput: min(missing/float64(len(f.Workers))/(f.Seconds*1e9), 1)}
	return f.judgeEffect(e, "worker %s began %s after the first worker", last.Name, text.Duration(float64(last.StartDelayNS)))
}

// R28SlowWorker reports a worker whose clients completed fewer operations than the clients of other
// workers.
func R28SlowWorker(f *Figures) finding {
	var slow []string
	for i := range f.Workers {
		w := &f.Workers[i]
		if w.Lost == "" && w.Pace > 0 && w.Pace <= MinPace && 1-w.Pace > paceErrorFactor*w.PaceError {
			slow = append(slow, fmt.Sprintf("on average, a client of worker %s completed %s as many operations as other workers' clients at the same members", w.Name, text.Share(w.Pace)))
		}
	}
	return suspectEach(slow)
}

// suspectEach returns a suspect finding whose text joins the given sentences, or no finding if
// there are none.
func suspectEach(all []string) finding {
	if len(all) == 0 {
		return noFinding()
	}
	return suspect("%s", strings.Join(all, "; "))
}

// R29WorkerApart reports a worker whose response times differ from those of other workers. It uses
// the difference in each second, so that a slowdown of all workers has no influence. It then
// applies Student's t-test to the mean difference. To limit false alarms for all workers together,
// it divides falseAlarmProbability by the number of workers (Bonferroni correction).
func R29WorkerApart(f *Figures) finding {
	var reasons []string
	for i := range f.Workers {
		w := &f.Workers[i]
		n := float64(len(w.MedianDistances))
		if len(w.MedianDistances) < minDistanceSeconds {
			continue
		}
		mean, deviation := stat.MeanStdDev(w.MedianDistances)
		tQuantile := stat.Student(n - 1).Quantile(1 - falseAlarmProbability/2/float64(len(f.Workers)))
		if by := math.Expm1(mean); math.Abs(by) > MaxMedianDistance && math.Abs(mean) > tQuantile*deviation/math.Sqrt(n) {
			than := "above"
			if by < 0 {
				than = "below"
			}
			reasons = append(reasons, fmt.Sprintf("the median response time of worker %s was %s %s that of the other workers at the same members", w.Name, text.Share(math.Abs(by)), than))
		}
	}
	return suspectEach(reasons)
}

// figures returns the figures of the worker's own generator, for rules that judge one generator.
func (w *Worker) figures(all *Figures) Figures {
	own := Figures{OpenLoop: all.OpenLoop, Succeeded: all.Succeeded, Headline: all.Headline, Seconds: w.Seconds, Generator: w.Generator}
	own.StolenShare = all.StolenShare
	return own
}

// R30DisturbedWorker reports a worker whose generator was disturbed. It applies R5 to R9 to each
// worker, because a disturbance of one worker may not be visible in sums over many workers.
func R30DisturbedWorker(f *Figures) finding {
	all := []finding{}
	for i := range f.Workers {
		w := &f.Workers[i]
		own := w.figures(f)
		for _, judge := range []func(*Figures) finding{R5GeneratorPaused, R6GeneratorThrottled, R7GeneratorStarved, R8GeneratorLate, R9GeneratorSaturated} {
			if found := judge(&own); found.state == Suspect {
				found.text = "worker " + w.Name + ": " + found.text
				all = append(all, found)
				break
			}
		}
	}
	return worstFinding(all)
}
