package verdict

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// The rules' limits, beside those on an effect. A figure at its limit is still
// within it.
const (
	// MaxLittleDeviation is how far the mean number of clients at work, by
	// Little's law, may be from the number of clients (R4).
	MaxLittleDeviation = 0.05
	// MaxErrors is the share of operations due that may fail (R11).
	MaxErrors = 0.001
	// MinBeyond is how many operations must lie beyond p99 (R12).
	MinBeyond = 10
	// MinCarriedInAge is the age up to which no operation that was in flight
	// when the window opened means anything (R15).
	MinCarriedInAge = 100 * time.Millisecond
)

// rule is one question.
type rule struct {
	number int
	judge  func(*Figures) finding
}

// finding is a rule's answer: how bad it is, and why. Valid with a text is a
// note: it happened, and moved nothing by as much as the limit.
type finding struct {
	state State
	text  string
}

func rules() []rule {
	return []rule{
		{1, nothingCompleted}, {2, booksDoNotBalance}, {3, wrongAnswers}, {4, littlesLaw},
		{5, stopped}, {6, throttled}, {7, waitedForProcessor}, {8, late}, {9, generatorBusy}, {10, stolen},
		{11, errorShare}, {12, tooFewSamples}, {13, memberLost}, {14, leaderChanged},
		{15, carriedIn}, {16, inFlightLimit}, {17, notDurable}, {18, misses}, {19, interrupted},
		{20, eventsImpossible}, {21, eventsFaulty}, {22, membersDisagree}, {23, foreign},
		{24, inventedMembers},
	}
}

func fine() finding { return finding{state: Valid} }

func suspect(format string, args ...any) finding {
	return finding{Suspect, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) finding {
	return finding{Invalid, fmt.Sprintf(format, args...)}
}

func nothingCompleted(f *Figures) finding {
	switch {
	case f.Succeeded > 0:
		return fine()
	case f.Due == 0:
		return invalid("no operation was due in the window")
	}
	return invalid("none of the %d operations due in the window completed", f.Due)
}

func booksDoNotBalance(f *Figures) finding {
	switch {
	case f.Succeeded+f.Failed != f.Due:
		return invalid("%d operations were due, but %d completed and %d failed; this is a defect of quorumbench", f.Due, f.Succeeded, f.Failed)
	case f.Timed != f.Due:
		return invalid("%d operations were due, but %d were timed; this is a defect of quorumbench", f.Due, f.Timed)
	}
	return fine()
}

func wrongAnswers(f *Figures) finding {
	if f.WrongAnswers == 0 {
		return fine()
	}
	return invalid("%d answers were wrong, the warm-up's included: another key, a damaged value, or what the store's protocol rules out", f.WrongAnswers)
}

// littlesLaw compares the clients with the mean number of operations in
// progress, once as the generator counted it and once as the sum of the
// operations' times over the window's length. Clients that rest after a refusal
// have none. A client's first operation began
// before the window and its last may end after it, so each edge can add or
// hide up to one longest operation.
func littlesLaw(f *Figures) finding {
	if f.OpenLoop || f.Seconds <= 0 || f.Clients == 0 || f.Due < uint64(f.Clients) || f.TotalNS == 0 {
		return fine()
	}
	window := f.Seconds * 1e9
	clients := float64(f.Clients)
	within := clients * (MaxLittleDeviation + f.LongestNS/window)
	resting := f.MeanResting
	if busy := f.TotalNS/window + resting; math.Abs(busy-clients) > within {
		return invalid("by Little's law %.4g clients were at work (%.0f operations/s × %s), but there are %d, and the difference is above %.0f %%; this is a defect of quorumbench",
			busy, float64(f.Due)/f.Seconds, measure.Duration(f.TotalNS/float64(f.Due)), f.Clients, 100*MaxLittleDeviation)
	}
	if f.MeanInFlight > 0 && math.Abs(f.MeanInFlight+resting-clients) > within {
		return invalid("%.4g operations were in progress on average and %.4g clients rested after a refusal, but there are %d clients, and the difference is above %.0f %%; this is a defect of quorumbench",
			f.MeanInFlight, resting, f.Clients, 100*MaxLittleDeviation)
	}
	return fine()
}

func errorShare(f *Figures) finding {
	if f.Succeeded == 0 || f.errors() <= MaxErrors {
		return fine()
	}
	return suspect("%d of %d operations failed (%s%s), above %s", f.Failed, f.Due, measure.Percent(f.errors()), f.kinds(), measure.Percent(MaxErrors))
}

func tooFewSamples(f *Figures) finding {
	beyond := f.Due / 100
	if f.Succeeded == 0 || beyond >= MinBeyond {
		return fine()
	}
	return suspect("p99 needs more operations than %d: it has %d beyond it, below %d", f.Due, beyond, MinBeyond)
}

func memberLost(f *Figures) finding {
	switch len(f.LostMembers) {
	case 0:
		return fine()
	case 1:
		return suspect("member %s was lost", f.LostMembers[0])
	}
	return suspect("members %s were lost", strings.Join(f.LostMembers, ", "))
}

func leaderChanged(f *Figures) finding {
	switch {
	case f.TermChanges <= 0:
		return fine()
	case f.TermChanges == 1:
		return suspect("the cluster elected a leader in the window")
	}
	return suspect("the cluster elected a leader %d times in the window", f.TermChanges)
}

// carriedIn asks whether the window opened on a stall: an operation in flight
// then was older than operations get. What a stall holds back is done when it
// ends, so that as much of the window as it lasted may be its.
func carriedIn(f *Figures) finding {
	age := float64(f.CarriedInAgeNS)
	excess := age - max(2*f.ResponseP99NS, float64(MinCarriedInAge))
	if excess <= 0 || f.Seconds <= 0 {
		return fine()
	}
	held := excess / (f.Seconds * 1e9)
	return judged(Effect{Throughput: held, P50: held}, "the window opened on an operation that had been in flight for %s (%d were in flight)",
		measure.Duration(age), f.CarriedIn)
}

// inFlightLimit asks what operations waited for that the store never saw: the
// limit of operations in flight, or a connection that takes another.
func inFlightLimit(f *Figures) finding {
	if !f.OpenLoop || f.Capped+f.NoRoom == 0 {
		return fine()
	}
	e := Effect{
		P50: excess(f.ResponseP50NS, max(f.ResponseP50NS-f.WaitingP50NS, f.ServiceP50NS)),
		P99: excess(f.ResponseP99NS, max(f.ResponseP99NS-f.WaitingP99NS, f.ServiceP50NS)),
	}
	if f.Capped > 0 {
		return judged(e, "%d of %d operations were held back because %d were in flight already, the limit", f.Capped, f.Due, f.MaxInFlight)
	}
	return judged(e, "%d of %d operations waited for a connection that was free: all were occupied, and each takes one operation at a time; more connections would ask more of the store", f.NoRoom, f.Due)
}

func notDurable(f *Figures) finding {
	if !f.Writes || !f.DurabilityKnown || f.durable() || f.VolatileMeant {
		return fine()
	}
	return suspect("durability not exercised: %s", volatility(f))
}

func volatility(f *Figures) string {
	switch {
	case f.Volatile && f.Unsynced:
		return fmt.Sprintf("the store was told not to sync, and its data is on %s", f.FileSystem)
	case f.Volatile:
		return fmt.Sprintf("the members' data is on %s, which forgets it at power loss", f.FileSystem)
	}
	return "the store was told not to sync"
}

func misses(f *Figures) finding {
	switch {
	case len(f.FoundNothing) > 0:
		return suspect("no operation of a kind found a key: %s", strings.Join(f.FoundNothing, ", "))
	case f.Misses == 0 || !f.Preloaded || f.Deletes:
		return fine()
	}
	return suspect("%d reads found no key, or not all that were written, although every key was written before", f.Misses)
}

func interrupted(f *Figures) finding {
	if !f.Interrupted {
		return fine()
	}
	return suspect("the window was interrupted after %.3g s", f.Seconds)
}
