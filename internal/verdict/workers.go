package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The limits of R28 and R29: what a worker did, or how long its operations took,
// must be beyond chance and beyond what matters.
const (
	// MinPace is the part of what the others' clients did that a worker's must do.
	MinPace    = 0.75
	paceErrors = 4
	// MaxApart is how far the median of a worker's response times may be from the
	// others', as a share.
	MaxApart = 0.10
	// falseAlarms is how often R29 is to speak of workers that are alike.
	falseAlarms     = 0.001
	minApartSeconds = 3
)

// Worker is one of several that generated the load.
type Worker struct {
	Name string
	// Lost is why it was lost before the load's end; empty if it was not.
	Lost string
	// BeganAfterNS is how much later than the first it came to the window.
	BeganAfterNS int64
	// Pace is what its clients did, by what the others' did at the same members in
	// the same time, with its standard error; 0 where that cannot be compared.
	Pace, PaceError float64
	// Apart has for each second how far the median of its response times was from
	// the others', as the difference of the logarithms.
	Apart []float64
	// Its own generator: of Figures those fields that R5 to R9 look at.
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
			return invalid("worker %s was lost, and the load ended there: %s", w.Name, w.Lost)
		}
	}
	for i := range f.Hosts {
		if h := &f.Hosts[i]; h.Lost != "" {
			return invalid("host %s was lost with its members, and the load ended there: %s", h.Name, h.Lost)
		}
	}
	return fine()
}

func anyLost(f *Figures) bool {
	return slices.ContainsFunc(f.Workers, func(w Worker) bool { return w.Lost != "" })
}

// R27WorkerBeganLate reports workers that began after the others: the operations that they
// did not send until then are missing from the throughput.
func R27WorkerBeganLate(f *Figures) finding {
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

// R28WorkerSlow reports a worker whose clients completed fewer operations than the others'.
func R28WorkerSlow(f *Figures) finding {
	var slow []string
	for i := range f.Workers {
		w := &f.Workers[i]
		if w.Lost == "" && w.Pace > 0 && w.Pace <= MinPace && 1-w.Pace > paceErrors*w.PaceError {
			slow = append(slow, fmt.Sprintf("worker %s did %s of what the others' clients did at the same members", w.Name, text.Share(w.Pace)))
		}
	}
	return named(slow)
}

// named is suspect for each that it names.
func named(all []string) finding {
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
	return named(apart)
}

// figures are those of its own generator, for the rules that ask about one.
func (w *Worker) figures(all *Figures) Figures {
	return Figures{
		OpenLoop: all.OpenLoop, Succeeded: all.Succeeded, Headline: all.Headline, Seconds: w.Seconds,
		Generator: Generator{
			Loops: w.Loops, LoopCPUNS: w.LoopCPUNS, RunDelayNS: w.RunDelayNS, PausedNS: w.PausedNS, LongestPauseNS: w.LongestPauseNS,
			ThrottledNS: w.ThrottledNS, Added: w.Added, StolenShare: all.StolenShare,
		},
	}
}

// R30WorkerDisturbed reports a single worker whose generator was disturbed. It applies R5 to
// R9 to each worker, because one of many can go unnoticed in their sums.
func R30WorkerDisturbed(f *Figures) finding {
	all := []finding{}
	for i := range f.Workers {
		w := &f.Workers[i]
		own := w.figures(f)
		for _, judge := range []func(*Figures) finding{R5Stopped, R6Throttled, R7WaitedForProcessor, R8SentLate, R9GeneratorBusy} {
			if found := judge(&own); found.state == Suspect {
				found.text = "worker " + w.Name + ": " + found.text
				all = append(all, found)
				break
			}
		}
	}
	return worstOf(all)
}
