package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The limits of all rules about disturbances are on their effect, not on their
// cause: on how far a printed figure can be off, as a share of what it is.
const (
	// SuspectEffect is how far a printed figure may be off before it is
	// suspect. However far it is, it is not invalid: the reason says what can
	// still be learnt from it.
	SuspectEffect = 0.05
	// NotedEffect is from where on a note says it.
	NotedEffect = 0.01
)

// Effect is how far a disturbance can have moved each figure of the headline,
// as a share of the figure without it: 0.05 is 5 %. Throughput can only be too
// low (by 1 at most), times only too high.
type Effect struct {
	Throughput float64
	Times      Times
}

// Of returns the share by which the figure of this name can be off: of "ops", of
// the headline's times, or of another name for one of them. A percentile between
// two that are known has the greater effect of both. Any other figure has 0.
func (e Effect) Of(figure string) float64 {
	most := 0.0
	for _, name := range standsFor(figure) {
		if name == Throughput {
			most = max(most, e.Throughput)
		} else {
			most = max(most, e.Times[place(name)])
		}
	}
	return most
}

// effectOnAll returns an effect that moves every time by the same share.
func effectOnAll(throughput, times float64) Effect {
	e := Effect{Throughput: throughput}
	for i := range e.Times {
		e.Times[i] = times
	}
	return e
}

// or is the worse of two effects, figure by figure.
func (e Effect) or(o Effect) Effect {
	e.Throughput = max(e.Throughput, o.Throughput)
	for i := range e.Times {
		e.Times[i] = max(e.Times[i], o.Times[i])
	}
	return e
}

// most is the greatest effect on a printed figure.
func (e Effect) most() float64 {
	most := 0.0
	for _, name := range Printed() {
		most = max(most, e.Of(name))
	}
	return most
}

// beyond returns the names of the figures that can be off by more than a share.
func (e Effect) beyond(limit float64) (names []string) {
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

// String completes a sentence: "throughput may be 3 % too low, and p50 12 % and
// p99 40 % too high". What is far below a note is left out.
func (e Effect) String() string {
	var high []string
	same := true
	for _, name := range Printed() {
		if is := e.Of(name); name != Throughput {
			same = same && share(is) == share(e.Of("p50"))
			if is >= NotedEffect/2 {
				high = append(high, name+" "+share(is))
			}
		}
	}
	if same && len(high) > 0 {
		high = []string{"times " + share(e.Of("p50"))}
	}
	text := strings.Join(high, ", ")
	if n := len(high); n > 1 {
		text = strings.Join(high[:n-1], ", ") + " and " + high[n-1]
	}
	switch low := e.Throughput >= NotedEffect/2; {
	case low && text == "":
		return fmt.Sprintf("throughput may be %s too low", share(e.Throughput))
	case low:
		return fmt.Sprintf("throughput may be %s too low, and %s too high", share(e.Throughput), text)
	case text == "":
		return "no figure is moved by as much as 0.5 %"
	}
	first, rest, _ := strings.Cut(text, " ")
	return first + " may be " + rest + " too high"
}

// share is a percentage of two digits, "over 1000 %" beyond what is worth one.
func share(x float64) string {
	if x > 10 {
		return "over 1000 %"
	}
	return text.Share(math.Round(x*1000) / 1000)
}

// Added is what the generator itself added to the times that it measured.
type Added struct {
	// Known is false where nothing was sampled.
	Known bool
	// Sampled are the times of sampled operations, the headline's, and Undisturbed
	// those of the same operations less what the generator added to each.
	Sampled, Undisturbed measure.Summary
	// MeanNS is what it added to an operation on average, from the moment that a
	// client was free (or an operation due) to the one in which it was free
	// again; CycleNS is the mean of that whole time.
	MeanNS, CycleNS float64
	// Conserved is the share of MeanNS in which the generator waited for a processor
	// and every processor ran the load's own programs: what the generator did not do
	// in that time the store did, and its clients' operations would have waited in
	// the store instead. Time in which it was stopped, or in which other programs
	// ran, is no part of it.
	Conserved float64
}

// Effect is how far it can have moved the headline. A percentile that the sample
// does not support has the effect of the next that it supports.
//
// In a closed loop N clients are either in the store or held by the generator:
// for g of a cycle on average, of which the share c was conserved. Without the
// rest of g the same clients would have made 1/(1-(1-c)·g/cycle) times as many
// cycles; and c·g of what the generator added would have been spent in the store.
func (a *Added) Effect(open bool) (e Effect) {
	if !a.Known {
		return e
	}
	elsewhere := 0.0
	if !open {
		if a.CycleNS > 0 {
			e.Throughput = min((1-a.Conserved)*a.MeanNS/a.CycleNS, 1)
		}
		elsewhere = a.Conserved * a.MeanNS
	}
	is, wouldBe := ofSummary(&a.Sampled), ofSummary(&a.Undisturbed)
	for i := len(e.Times) - 1; i >= 0; i-- {
		switch {
		case is[i] > 0 && wouldBe[i] > 0:
			added := elsewhere
			if i == place("stddev") {
				added = 0
			}
			e.Times[i] = excess(is[i], wouldBe[i]+added)
		case i < place("max"):
			e.Times[i] = e.Times[i+1]
		}
	}
	// After a pause the lag of an answer is at most what is taken off, so that the least
	// of many remainders says little: the fastest operation is not off by more than the
	// fast ones are.
	e.Times[0] = min(e.Times[0], e.Times[1])
	return e
}

// excess is how much more is is than it would be, as a share.
func excess(is, wouldBe float64) float64 {
	if is <= 0 || wouldBe <= 0 {
		return 0
	}
	return max(is/wouldBe-1, 0)
}
