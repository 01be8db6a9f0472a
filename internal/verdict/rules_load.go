package verdict

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
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

// The limits of R25: how far the throughputs of the window's two halves may be
// apart, as a share of their mean, and as a multiple of the error that their
// seconds show; in halves of fewer seconds that error is a guess.
const (
	MaxDrift       = 0.10
	maxDriftErrors = 4
	MinHalfSeconds = 15
)

// R1NothingCompleted reports a window in which no due operation completed.
func R1NothingCompleted(f *Figures) finding {
	switch {
	case f.Succeeded > 0:
		return fine()
	case f.Due == 0:
		return invalid("no operation was due in the window")
	}
	return invalid("none of the %d operations due in the window completed", f.Due)
}

// R2BooksDoNotBalance reports that due operations are not completed operations plus errors.
func R2BooksDoNotBalance(f *Figures) finding {
	switch {
	case f.Succeeded+f.Failed != f.Due:
		return invalid("%d operations were due, but %d completed and %d failed; this is a defect of quorumbench", f.Due, f.Succeeded, f.Failed)
	case f.Timed != f.Due:
		return invalid("%d operations were due, but %d were timed; this is a defect of quorumbench", f.Due, f.Timed)
	}
	return fine()
}

// R3WrongAnswers reports responses with wrong keys or values.
func R3WrongAnswers(f *Figures) finding {
	if f.WrongAnswers == 0 {
		return fine()
	}
	return invalid("%d answers were wrong, the warm-up's included: another key, a damaged value, or what the store's protocol rules out", f.WrongAnswers)
}

// R4LittlesLaw reports a closed loop that does not fit Little's law. It compares the clients
// with the mean number of operations in progress, once as the generator counted it and once
// as the sum of the operations' times over the window's length. Clients that pause after a
// refusal have no operation. A client's first operation began before the window and its last
// may end after it, so each edge can add or hide up to one longest operation.
func R4LittlesLaw(f *Figures) finding {
	if anyLost(f) { // what its clients did at the end nobody knows
		return fine()
	}
	if f.OpenLoop || f.Seconds <= 0 || f.Clients == 0 || f.Due < uint64(f.Clients) || f.TotalNS == 0 {
		return fine()
	}
	window := f.Seconds * 1e9
	clients := float64(f.Clients)
	within := clients * (MaxLittleDeviation + f.LongestNS/window)
	resting := f.MeanResting
	if busy := f.TotalNS/window + resting; math.Abs(busy-clients) > within {
		return invalid("by Little's law %.4g clients were at work (%.0f operations/s × %s), but there are %d, and the difference is above %.0f %%; this is a defect of quorumbench",
			busy, float64(f.Due)/f.Seconds, text.Duration(f.TotalNS/float64(f.Due)), f.Clients, 100*MaxLittleDeviation)
	}
	if f.MeanInFlight > 0 && math.Abs(f.MeanInFlight+resting-clients) > within {
		return invalid("%.4g operations were in progress on average and %.4g clients rested after a refusal, but there are %d clients, and the difference is above %.0f %%; this is a defect of quorumbench",
			f.MeanInFlight, resting, f.Clients, 100*MaxLittleDeviation)
	}
	return fine()
}

// R11ErrorShare reports too many failed operations: a larger share than MaxErrors.
func R11ErrorShare(f *Figures) finding {
	if f.Succeeded == 0 || f.errors() <= MaxErrors {
		return fine()
	}
	if f.MeantErrors > 0 {
		return suspect("%d of %d operations failed beside those that failed in a fault (%s), above %s", f.Failed-f.MeantErrors, f.Due, text.Share(f.errors()), text.Share(MaxErrors))
	}
	return suspect("%d of %d operations failed (%s%s), above %s", f.Failed, f.Due, text.Share(f.errors()), f.kinds(), text.Share(MaxErrors))
}

// R12TooFewSamples reports too few operations for a percentile: fewer than MinBeyond beyond it.
func R12TooFewSamples(f *Figures) finding {
	beyond := f.Due / 100
	if f.Succeeded == 0 || beyond >= MinBeyond {
		return fine()
	}
	return suspect("p99 needs more operations than %d: it has %d beyond it, below %d", f.Due, beyond, MinBeyond).of("p99", "p99.9", "max")
}

// R13MemberLost reports members that ended during the trial.
func R13MemberLost(f *Figures) finding {
	switch len(f.LostMembers) {
	case 0:
		return fine()
	case 1:
		return suspect("member %s was lost", f.LostMembers[0])
	}
	return suspect("members %s were lost", strings.Join(f.LostMembers, ", "))
}

// R14LeaderChanged reports leader changes in the window.
func R14LeaderChanged(f *Figures) finding {
	switch {
	case f.TermChanges <= 0:
		return fine()
	case f.TermChanges == 1:
		return suspect("the cluster elected a leader in the window")
	}
	return suspect("the cluster elected a leader %d times in the window", f.TermChanges)
}

// R15CarriedIn reports a window that opened during a stall: an operation in flight then was
// older than operations usually get. The operations that a stall held back complete when it
// ends, so the stall may account for as much of the window as it lasted.
func R15CarriedIn(f *Figures) finding {
	age := float64(f.CarriedInAgeNS)
	excess := age - max(2*f.Response.At(99).NS, float64(MinCarriedInAge))
	if excess <= 0 || f.Seconds <= 0 {
		return fine()
	}
	held := excess / (f.Seconds * 1e9)
	return f.judged(effectOnAll(held, held), "the window opened on an operation that had been in flight for %s (%d were in flight)",
		text.Duration(age), f.CarriedIn)
}

// R16InFlightLimit reports operations of an open loop that waited for the limit on operations
// in flight or for a connection. In a trial with faults it is a note, because waiting in an
// outage is intended and the rule cannot distinguish it from other waiting.
func R16InFlightLimit(f *Figures) finding {
	found := inFlightLimit(f)
	if f.Injected > 0 && found.text != "" {
		return finding{state: Valid, text: found.text + "; how much of that was in a fault is not known"}
	}
	return found
}

// inFlightLimit asks what operations waited for that the store never saw: the
// limit of operations in flight, or a connection that takes another.
func inFlightLimit(f *Figures) finding {
	if !f.OpenLoop || f.Capped+f.NoRoom == 0 {
		return fine()
	}
	e, response := Effect{}, ofSummary(&f.Response)
	for i, is := range response {
		e.Times[i] = excess(is, max(is-f.Waiting[i], f.ServiceP50NS))
	}
	if f.Capped > 0 {
		return f.judged(e, "%d of %d operations were held back because %d were in flight already, the limit", f.Capped, f.Due, f.MaxInFlight)
	}
	const waited = "%d of %d operations waited for a connection that was free: all were occupied, and each takes one operation at a time; more connections would ask more of the store"
	if f.NoRoom > f.Due/2 && f.errors() >= 0.5 { // every percentile lands on one that was never sent
		return suspect(waited, f.NoRoom, f.Due)
	}
	return f.judged(e, waited, f.NoRoom, f.Due)
}

// R25Unsteady reports a closed loop whose throughput changed during the window: a store that
// fills up, compacts or throttles becomes slower, a store that still warms up becomes faster,
// and the figures then depend on the window's length.
func R25Unsteady(f *Figures) finding {
	a, b := &f.Halves[0], &f.Halves[1]
	if f.OpenLoop || f.Injected > 0 || min(a.Seconds, b.Seconds) < MinHalfSeconds {
		return fine()
	}
	mean, apart := (a.PerSecond+b.PerSecond)/2, math.Abs(a.PerSecond-b.PerSecond)
	if apart <= MaxDrift*mean || apart <= maxDriftErrors*math.Hypot(a.Error, b.Error) {
		return fine()
	}
	return suspect("throughput was not steady: %.0f/s in the first half of the window and %.0f/s in the second, more than %s apart; a longer warm-up, or a longer window, shows which of them lasts",
		a.PerSecond, b.PerSecond, text.Share(MaxDrift))
}

// R17NotDurable reports writes to a file system that loses them, or to a store told not to sync.
func R17NotDurable(f *Figures) finding {
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

// R18Misses reports reads that did not find keys which were written before the window.
func R18Misses(f *Figures) finding {
	switch {
	case len(f.FoundNothing) > 0:
		return suspect("no operation of a kind found a key: %s", strings.Join(f.FoundNothing, ", "))
	case f.Misses == 0 || !f.Preloaded || f.Deletes:
		return fine()
	}
	return suspect("%d reads found no key, or not all that were written, although every key was written before", f.Misses)
}

// R19Interrupted reports a trial that was interrupted.
func R19Interrupted(f *Figures) finding {
	if !f.Interrupted {
		return fine()
	}
	return suspect("the window was interrupted after %.3g s", f.Seconds)
}
