package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
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
	*measure.Part
	// MedianDistances is this worker's result of measure.MedianDistances.
	MedianDistances []float64
	// Added holds the delay that the worker's own generator added. R5 to R9 use it.
	Added Added
}

// seconds returns the length of the worker's window.
func (w *Worker) seconds() float64 { return float64(w.Length) / 1e9 }

// R26WorkerLost reports workers that were lost before the end, and hosts that were lost together
// with their members.
func R26WorkerLost(f *Figures) finding {
	for i := range f.Workers {
		if w := &f.Workers[i]; w.Lost != "" {
			return invalid("worker %s was lost, and its load ended: %s", w.Worker, w.Lost)
		}
	}
	for i := range f.Hosts {
		if h := &f.Hosts[i]; h.Lost != "" {
			return invalid("host %s was lost with its members, and the load ended: %s", h.Name, h.Lost)
		}
	}
	return noFinding()
}

// R27UnevenStart reports workers that began later than others. The operations that such a worker
// would have sent before it began are missing from the throughput.
func R27UnevenStart(f *Figures) finding {
	var last *Worker
	missing := 0.0
	for i := range f.Workers {
		w := &f.Workers[i]
		missing += float64(w.StartDelay)
		if last == nil || w.StartDelay > last.StartDelay {
			last = w
		}
	}
	if last == nil || f.Measured.Seconds <= 0 {
		return noFinding()
	}
	e := Effect{Throughput: min(missing/float64(len(f.Workers))/(f.Measured.Seconds*1e9), 1)}
	return f.judgeEffect(e, "worker %s began %s after the first worker", last.Worker, text.Duration(float64(last.StartDelay)))
}

// R28SlowWorker reports a worker whose clients completed fewer operations than the clients of other
// workers.
func R28SlowWorker(f *Figures) finding {
	var slow []string
	for i := range f.Workers {
		w := &f.Workers[i]
		pace, relativeError := f.pace(i)
		if w.Lost != "" || pace <= 0 || pace > MinPace || w.Response.Total() == 0 {
			continue
		}
		response := w.Response.Histogram()
		if variation := response.StdDev() / max(response.Mean(), 1); 1-pace > paceErrorFactor*variation*relativeError {
			slow = append(slow, fmt.Sprintf("on average, a client of worker %s completed %s as many operations as other workers' clients at the same members", w.Worker, text.Share(pace)))
		}
	}
	return suspectEach(slow)
}

// pace compares the i-th worker with the other workers at the same endpoints during the same time.
// It returns the number of operations per client of this worker, divided by the same number for the
// others. It also returns the standard error of this ratio for a coefficient of variation of 1. The
// standard error is proportional to the coefficient of variation of the operations' times. Both
// results are 0 if unknown.
func (f *Figures) pace(i int) (pace, relativeError float64) {
	type completed struct{ clients, operations, perSecond float64 }
	mine, theirs := map[string]completed{}, map[string]completed{}
	for k := range f.Workers {
		w, at := &f.Workers[k], theirs
		if k == i {
			at = mine
		}
		for _, c := range w.Connections {
			all := at[c.Endpoint]
			for _, n := range c.Completed {
				all.clients, all.operations = all.clients+1, all.operations+float64(n)
				all.perSecond += float64(n) / max(w.seconds(), 1e-9)
			}
			at[c.Endpoint] = all
		}
	}
	w := &f.Workers[i]
	// own is the number of operations that this worker's clients completed. expected is the number
	// that they would have completed at the pace of the other workers' clients. basis is the number
	// of operations from which this pace was computed.
	own, expected, basis := 0.0, 0.0, 0.0
	for endpoint, m := range mine {
		if o := theirs[endpoint]; o.clients > 0 {
			own += m.operations
			expected += m.clients * o.perSecond / o.clients * float64(w.Length) / 1e9
			basis += o.operations
		}
	}
	if expected == 0 {
		return 0, 0
	}
	return own / expected, math.Sqrt(1/expected + 1/basis)
}

// meanInactiveClients returns the time-weighted mean number of clients whose worker was not active:
// it had not started yet, or had already sent its part of a total.
func (f *Figures) meanInactiveClients() (clients float64) {
	for i := range f.Workers {
		w := &f.Workers[i]
		for _, c := range w.Connections {
			clients += float64(len(c.Completed)) * max(0, 1-w.seconds()/f.Measured.Seconds)
		}
	}
	return clients
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
			reasons = append(reasons, fmt.Sprintf("the median response time of worker %s was %s %s that of the other workers at the same members", w.Worker, text.Share(math.Abs(by)), than))
		}
	}
	return suspectEach(reasons)
}

// workerHost returns the host of a worker, or nil if the worker has no host of its own.
func (f *Figures) workerHost(w *Worker) *measure.Host {
	for i := range f.Hosts {
		if h := &f.Hosts[i]; strings.HasSuffix(w.Worker, " on "+h.Name) {
			return h
		}
	}
	return nil
}

// figures returns the figures of the worker's own generator, for rules that judge one generator.
func (w *Worker) figures(all *Figures) Figures {
	stolen := all.StolenShare
	if h := all.workerHost(w); h != nil {
		stolen = measure.OrZero(h.StolenShare)
	}
	m := &measure.Totals{Seconds: w.seconds(), Window: w.Window, LoopCPU: w.LoopCPU, RunDelay: w.RunDelay}
	m.Outcomes = all.Measured.Outcomes // the rules judge the effect on the figures of all workers
	return Figures{
		OpenLoop: all.OpenLoop, Measured: m, Merged: all.Merged, Headline: all.Headline, HeadlineIsResponse: all.HeadlineIsResponse,
		Generator: Generator{Loops: w.Loops, Added: w.Added, ThrottledNS: measure.OrZero(w.ThrottledNS), StolenShare: stolen},
	}
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
				found.text = "worker " + w.Worker + ": " + found.text
				all = append(all, found)
				break
			}
		}
	}
	return worstFinding(all)
}
