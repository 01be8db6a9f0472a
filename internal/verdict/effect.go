package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// The limits of all rules about disturbances are on their effect, not on their
// cause: on how far the headline can be off, as a share of what it is.
const (
	// SuspectEffect is how far a figure of the headline may be off before the
	// result is suspect. However far it is, it is not invalid: the reason says
	// what can still be learnt from it.
	SuspectEffect = 0.05
	// NotedEffect is from where on a note says it.
	NotedEffect = 0.01
)

// Effect is how far a disturbance can have moved each figure of the headline,
// as a share of the figure without it: 0.05 is 5 %. Throughput can only be too
// low (by 1 at most), times only too high.
type Effect struct {
	Throughput float64 `json:"throughput"`
	P50        float64 `json:"p50"`
	P99        float64 `json:"p99"`
}

// most is the greatest of them.
func (e Effect) most() float64 { return max(e.Throughput, e.P50, e.P99) }

// String completes a sentence: "throughput may be 3 % too low and p99 12 % too
// high". What is far below a note is left out.
func (e Effect) String() string {
	var parts []string
	if e.Throughput >= NotedEffect/2 {
		parts = append(parts, fmt.Sprintf("throughput may be %s too low", share(e.Throughput)))
	}
	for _, f := range []struct {
		name string
		is   float64
	}{{"p50", e.P50}, {"p99", e.P99}} {
		if f.is >= NotedEffect/2 {
			parts = append(parts, fmt.Sprintf("%s may be %s too high", f.name, share(f.is)))
		}
	}
	switch len(parts) {
	case 0:
		return "no figure is moved by as much as 0.5 %"
	case 1:
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// share is a percentage of two digits, "over 1000 %" beyond what is worth one.
func share(x float64) string {
	if x > 10 {
		return "over 1000 %"
	}
	return measure.Percent(math.Round(x*1000) / 1000)
}

// judged is what an effect of a cause makes of a result. What it says is the
// cause, a sentence without its end.
func judged(e Effect, format string, args ...any) finding {
	text := fmt.Sprintf(format, args...) + "; " + e.String()
	switch most := e.most(); {
	case most > SuspectEffect:
		return finding{Suspect, text}
	case most >= NotedEffect:
		return finding{Valid, text}
	}
	return fine()
}

// Added is what the generator itself added to the times that it measured.
type Added struct {
	// Known is false where nothing was sampled.
	Known bool
	// Medians and p99 of the same operations, with the time of the headline and
	// with that less what the generator added; 0 where the sample does not
	// support them.
	SampledP50NS, UndisturbedP50NS float64
	SampledP99NS, UndisturbedP99NS float64
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

// Effect is how far it can have moved the headline.
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
	e.P50 = excess(a.SampledP50NS, a.UndisturbedP50NS+elsewhere)
	e.P99 = excess(a.SampledP99NS, a.UndisturbedP99NS+elsewhere)
	return e
}

// excess is how much more is is than it would be, as a share.
func excess(is, wouldBe float64) float64 {
	if is <= 0 || wouldBe <= 0 {
		return 0
	}
	return max(is/wouldBe-1, 0)
}
