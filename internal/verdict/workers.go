package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The limits of R28 and R29. A difference between workers must be larger than chance explains,
// and large enough to matter.
const (
	// MinPace is the smallest allowed ratio of a worker's operations to the others', per client.
	MinPace    = 0.75
	paceErrors = 4
	// MaxApart is the largest allowed difference between a worker's median response time and
	// the others', as a share.
	MaxApart = 0.10
	// falseAlarms is the rate at which R29 may report equal workers.
	falseAlarms     = 0.001
	minApartSeconds = 3
)

// Worker is one of several that generated the load.
type Worker struct {
	Name string
	// Lost is why it was lost before the load's end; empty if it was not.
	Lost string
	// BeganAfterNS is how much later than the first worker it began its window.
	BeganAfterNS int64
	// Pace is the ratio of its clients' operations to those of the others' clients at the same
	// members in the same time, and PaceError its standard error; 0 if unknown.
	Pace, PaceError float64
	// Apart holds for each second the difference between the logarithms of its median response
	// time and the others'.
	Apart []float64
	// Figures of the worker's generator that R5 to R9 need.
	Seconds                                         float64
	Loops                                           int
	LoopCPUNS, RunDelayNS, PausedNS, LongestPauseNS int64
	ThrottledNS                                     int64
	Added                                           Added
}

// R26WorkerLost reports workers that were lost before the end, and hosts that were lost with
// their members.
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
	return fine()
}

func anyLost(f *Figures) bool {
	return slices.ContainsFunc(f.Workers, func(w Worker) bool { return w.Lost != "" })
}

// R27UnevenStart reports workers that began after the others: the operations that they
// did not send until then are missing from the throughput.
func R27UnevenStart(f *Figures) finding {
	var last *Worker
	missing := 0.0
	for i := range f.Workers {
		w := &f.Workers[i]
		missing += float64(w.BeganAfterNS)
		if last == nil || w.BeganAfterNS > last.BeganAfterNS {
			last = w
		}
	}
	if last == nil || f.Seconds <= 0 {
		return fine()
	}
	e := Effect{Throughput: min(missing/float64(len(f.Workers))/(f.Seconds*1e9), 1)}
	return f.judged(e, "worker %s began %s after the first", last.Name, text.Duration(float64(last.BeganAfterNS)))
}

// R28SlowWorker reports a worker whose clients completed fewer operations than the others'.
func R28SlowWorker(f *Figures) finding {
	var slow []string
	for i := range f.Workers {
		w := &f.Workers[i]
		if w.Lost == "" && w.Pace > 0 && w.Pace <= MinPace && 1-w.Pace > paceErrors*w.PaceError {
			slow = append(slow, fmt.Sprintf("clients of worker %s completed %s of the operations of the others' clients at the same members", w.Name, text.Share(w.Pace)))
		}
	}
	return suspectEach(slow)
}

// suspectEach returns a suspect finding with all sentences.
func suspectEach(all []string) finding {
	if len(all) == 0 {
		return fine()
	}
	return suspect("%s", strings.Join(all, "; "))
}

// R29WorkerApart reports a worker whose response times differ from the others'. It takes the
// differences second by second, so that a slowdown of all workers is in none of them, and
// compares their mean with Student's t, at the share of false alarms divided by the number
// of workers (Bonferroni).
func R29WorkerApart(f *Figures) finding {
	var apart []string
	for i := range f.Workers {
		w := &f.Workers[i]
		n := float64(len(w.Apart))
		if len(w.Apart) < minApartSeconds {
			continue
		}
		mean, deviation := stat.MeanStdDev(w.Apart)
		chance := stat.Student(n - 1).Quantile(1 - falseAlarms/2/float64(len(f.Workers)))
		if by := math.Expm1(mean); math.Abs(by) > MaxApart && math.Abs(mean) > chance*deviation/math.Sqrt(n) {
			than := "above"
			if by < 0 {
				than = "below"
			}
			apart = append(apart, fmt.Sprintf("the median response time of worker %s was %s %s the others' at the same members", w.Name, text.Share(math.Abs(by)), than))
		}
	}
	return suspectEach(apart)
}

// figures returns the figures of the worker's own generator, for rules about one generator.
func (w *Worker) figures(all *Figures) Figures {
	return Figures{
		OpenLoop: all.OpenLoop, Succeeded: all.Succeeded, Headline: all.Headline, Seconds: w.Seconds,
		Generator: Generator{
			Loops: w.Loops, LoopCPUNS: w.LoopCPUNS, RunDelayNS: w.RunDelayNS, PausedNS: w.PausedNS, LongestPauseNS: w.LongestPauseNS,
			ThrottledNS: w.ThrottledNS, Added: w.Added, StolenShare: all.StolenShare,
		},
	}
}

// R30DisturbedWorker reports a single worker whose generator was disturbed. It applies R5 to
// R9 to each worker, because one of many can go unnoticed in their sums.
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
	return worstOf(all)
}
