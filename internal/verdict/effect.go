package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The rules for disturbances have limits for the effect of a disturbance, not for the cause of the
// disturbance. The effect is the fraction by which a printed figure may be wrong.
const (
	// SuspectEffect is the effect above which a printed figure is suspect. An effect never makes a
	// figure invalid, because the reason states how wrong the figure can be.
	SuspectEffect = 0.05
	// NotedEffect is the smallest effect that a note reports.
	NotedEffect = 0.01
)

// Effect holds how far a disturbance may have moved each printed figure, as a fraction of the
// undisturbed figure: 0.05 is 5 %. Throughput can only be too low (by at most 1), and times can
// only be too high.
type Effect struct {
	Throughput float64
	Times      Times
}

// ForFigure returns the fraction by which a figure can be wrong. It knows the throughput "ops", the
// times in Headline, and their other names. For a percentile between two known percentiles, it
// returns the larger of their effects. For any other figure, it returns 0.
func (e Effect) ForFigure(figure string) float64 {
	most := 0.0
	for _, name := range effectNames(figure) {
		if name == Throughput {
			most = max(most, e.Throughput)
		} else {
			most = max(most, e.Times[timeIndex(name)])
		}
	}
	return most
}

// BoundText returns the largest effect on a figure as text, such as "up to 3 %".
func (e Effect) BoundText(figure string) string { return upTo(share(e.ForFigure(figure))) }

// uniformEffect returns an effect that moves all times by the same fraction.
func uniformEffect(throughput, times float64) Effect {
	e := Effect{Throughput: throughput}
	for i := range e.Times {
		e.Times[i] = times
	}
	return e
}

// union returns, for each figure, the larger of two effects.
func (e Effect) union(o Effect) Effect {
	e.Throughput = max(e.Throughput, o.Throughput)
	for i := range e.Times {
		e.Times[i] = max(e.Times[i], o.Times[i])
	}
	return e
}

// largest returns the largest effect on any printed figure.
func (e Effect) largest() float64 {
	most := 0.0
	for _, name := range PrintedFigures() {
		most = max(most, e.ForFigure(name))
	}
	return most
}

// figuresAbove returns the names of the figures that may be wrong by more than the given limit.
func (e Effect) figuresAbove(limit float64) (names []string) {
	if e.Throughput > limit {
		names = append(names, Throughput)
	}
	for i, name := range timeNames() {
		if e.Times[i] > limit {
			names = append(names, name)
		}
	}
	return names
}

// String returns a clause such as "throughput may be up to 3 % too low; p50 up to 12 % and p99 40 %
// too high". It omits effects that are far below NotedEffect.
func (e Effect) String() string {
	var names, shares []string
	same := true
	for _, name := range PrintedFigures() {
		if is := e.ForFigure(name); name != Throughput {
			same = same && share(is) == share(e.ForFigure("p50"))
			if is >= NotedEffect/2 {
				names, shares = append(names, name), append(shares, share(is))
			}
		}
	}
	if same && len(names) > 0 {
		names, shares = []string{"all times"}, shares[:1]
	}
	high := ""
	for i := range names {
		switch {
		case i == 0:
			high = upTo(shares[i])
		case i == len(names)-1:
			high += " and " + names[i] + " " + shares[i]
		default:
			high += ", " + names[i] + " " + shares[i]
		}
	}
	switch low := e.Throughput >= NotedEffect/2; {
	case low && high == "":
		return fmt.Sprintf("throughput may be %s too low", upTo(share(e.Throughput)))
	case low:
		return fmt.Sprintf("throughput may be %s too low, and %s %s too high", upTo(share(e.Throughput)), names[0], high)
	case high == "":
		return "the effect on each figure is below 0.5 %"
	}
	return fmt.Sprintf("%s may be %s too high", names[0], high)
}

// upTo adds "up to" to a percentage.
func upTo(share string) string {
	if strings.HasPrefix(share, "over") {
		return share
	}
	return "up to " + share
}

// share returns a percentage with two digits, or "over 1000 %".
func share(x float64) string {
	if x > 10 {
		return "over 1000 %"
	}
	return text.Share(math.Round(x*1000) / 1000)
}

// Added holds the delay that the generator itself added to the times that it measured.
type Added struct {
	// Known is false if no operation was sampled.
	Known bool
	// Sampled summarizes the headline times (see Figures.Headline) of the sampled operations.
	// Undisturbed summarizes the times of the same operations without the delay that the generator
	// added.
	Sampled, Undisturbed measure.Summary
	// MeanNS is the generator's mean delay per operation. The delay is part of a client's cycle,
	// which begins when the client is free (or an operation is due) and ends when the client is
	// free again. CycleNS is the mean duration of that cycle.
	MeanNS, CycleNS float64
	// Conserved is the fraction of MeanNS during which the generator waited for a CPU while all
	// CPUs ran programs of this load. The store used that time, so the operations would otherwise
	// have waited in the store. Conserved excludes the time during which the generator was stopped
	// or other programs ran.
	Conserved float64
}

// Effect returns how far the generator's delay may have moved the printed figures. A percentile
// with too few samples has the effect of the next higher figure that is known.
//
// In a closed loop, each client either waits for the store or is delayed by the generator. Let g be
// the generator's mean delay per cycle, and c the conserved fraction of g. Without the rest of the
// delay, (1-c)·g, the same clients would have completed 1/(1-(1-c)·g/cycle) times as many cycles.
// The clients would have spent the conserved delay, c·g, in the store.
func (a *Added) Effect(open bool) (e Effect) {
	if !a.Known {
		return e
	}
	conservedNS := 0.0
	if !open {
		if a.CycleNS > 0 {
			e.Throughput = min((1-a.Conserved)*a.MeanNS/a.CycleNS, 1)
		}
		conservedNS = a.Conserved * a.MeanNS
	}
	measured, undisturbed := timesFromSummary(&a.Sampled), timesFromSummary(&a.Undisturbed)
	for i := len(e.Times) - 1; i >= 0; i-- {
		switch {
		case measured[i] > 0 && undisturbed[i] > 0:
			added := conservedNS
			if i == timeIndex("stddev") {
				added = 0
			}
			e.Times[i] = excess(measured[i], undisturbed[i]+added)
		case i < timeIndex("max"):
			e.Times[i] = e.Times[i+1]
		}
	}
	// After a pause, only an upper bound for the delay of a response is known. So the undisturbed
	// time that is computed for an operation can be far too low, and the minimum of these times is
	// not reliable. But the measured minimum is not more wrong than the times of other fast
	// operations.
	e.Times[0] = min(e.Times[0], e.Times[1])
	return e
}

// excess returns the fraction by which a figure is above its undisturbed value.
func excess(measured, undisturbed float64) float64 {
	if measured <= 0 || undisturbed <= 0 {
		return 0
	}
	return max(measured/undisturbed-1, 0)
}
