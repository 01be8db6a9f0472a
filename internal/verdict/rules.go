package verdict

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// The rules' limits. A figure at its limit is still within it.
const (
	// MaxLittleDeviation is how far the mean number of clients at work, by
	// Little's law, may be from the number of clients (R4).
	MaxLittleDeviation = 0.05
	// MaxPause is how long the generator may stand still at once before the
	// result is suspect, StoppedPause before it is invalid (R5).
	MaxPause     = 50 * time.Millisecond
	StoppedPause = time.Second
	// ThrottledInvalid is the share of the window in which the generator may
	// be held back by its control group before the result is invalid; any time
	// at all makes it suspect (R6).
	ThrottledInvalid = 0.10
	// MaxRunDelay is the mean wait of the generator's threads for a processor,
	// as a share of the median service time (R7).
	MaxRunDelay = 0.10
	// MaxLateness is the open loop's lateness at p99 as a share of the median
	// response time, or MinLateness if that is more (R8).
	MaxLateness = 0.10
	MinLateness = time.Millisecond
	// MaxLoopBusy is the share of the window in which the generator's loops
	// may be at work (R9).
	MaxLoopBusy = 0.90
	// MaxStolen is the share of the machine's processor time that its host may
	// give to others (R10).
	MaxStolen = 0.01
	// MaxErrors is the share of operations due that may fail (R11).
	MaxErrors = 0.001
	// MinBeyond is how many operations must lie beyond p99 (R12).
	MinBeyond = 10
	// MaxCarriedInAge is the age of the oldest operation in flight when the
	// window opens (R15).
	MaxCarriedInAge = 100 * time.Millisecond
)

// rule is one question. judge answers Valid, or how bad it is and why.
type rule struct {
	number int
	judge  func(*Figures) (State, string)
}

func rules() []rule {
	return []rule{
		{1, nothingCompleted}, {2, booksDoNotBalance}, {3, wrongAnswers}, {4, littlesLaw},
		{5, stopped}, {6, throttled}, {7, waitedForProcessor}, {8, late}, {9, generatorBusy}, {10, stolen},
		{11, errorShare}, {12, tooFewSamples}, {13, memberLost}, {14, leaderChanged},
		{15, carriedIn}, {16, inFlightLimit}, {17, notDurable}, {18, misses}, {19, interrupted},
		{20, eventsImpossible}, {21, eventsAmiss}, {22, membersDisagree},
	}
}

func fine() (State, string) { return Valid, "" }

func suspect(format string, args ...any) (State, string) {
	return Suspect, fmt.Sprintf(format, args...)
}

func invalid(format string, args ...any) (State, string) {
	return Invalid, fmt.Sprintf(format, args...)
}

func nothingCompleted(f *Figures) (State, string) {
	switch {
	case f.Succeeded > 0:
		return fine()
	case f.Due == 0:
		return invalid("no operation was due in the window")
	}
	return invalid("none of the %d operations due in the window completed", f.Due)
}

func booksDoNotBalance(f *Figures) (State, string) {
	switch {
	case f.Succeeded+f.Failed != f.Due:
		return invalid("%d operations were due, but %d completed and %d failed; this is a defect of quorumbench", f.Due, f.Succeeded, f.Failed)
	case f.Timed != f.Due:
		return invalid("%d operations were due, but %d were timed; this is a defect of quorumbench", f.Due, f.Timed)
	}
	return fine()
}

func wrongAnswers(f *Figures) (State, string) {
	if f.WrongAnswers == 0 {
		return fine()
	}
	return invalid("%d answers were wrong: another key, or a damaged value", f.WrongAnswers)
}

// littlesLaw compares the clients with the mean number of operations in
// progress, once as the generator counted it and once as the sum of the
// operations' times over the window's length. A client's first operation began
// before the window and its last may end after it, so each edge can add or
// hide up to one longest operation.
func littlesLaw(f *Figures) (State, string) {
	if f.OpenLoop || f.Seconds <= 0 || f.Clients == 0 || f.Due < uint64(f.Clients) || f.TotalNS == 0 {
		return fine()
	}
	window := f.Seconds * 1e9
	clients := float64(f.Clients)
	within := clients * (MaxLittleDeviation + f.LongestNS/window)
	if busy := f.TotalNS / window; math.Abs(busy-clients) > within {
		return invalid("by Little's law %.4g clients were at work (%.0f operations/s × %s), but there are %d, and the difference is above %.0f %%; this is a defect of quorumbench",
			busy, float64(f.Due)/f.Seconds, measure.Duration(f.TotalNS/float64(f.Due)), f.Clients, 100*MaxLittleDeviation)
	}
	if f.MeanInFlight > 0 && math.Abs(f.MeanInFlight-clients) > within {
		return invalid("%.4g operations were in progress on average, but there are %d clients, and the difference is above %.0f %%; this is a defect of quorumbench",
			f.MeanInFlight, f.Clients, 100*MaxLittleDeviation)
	}
	return fine()
}

func stopped(f *Figures) (State, string) {
	pause := time.Duration(f.LongestPauseNS)
	switch {
	case pause > StoppedPause:
		return invalid("the generator stood still for %s at once, above %s: it was stopped", measure.Duration(float64(pause)), measure.Duration(float64(StoppedPause)))
	case pause > MaxPause:
		return suspect("the generator stood still for %s at once, above %s: it was stopped or not given a processor, and the slowest times are its own",
			measure.Duration(float64(pause)), measure.Duration(float64(MaxPause)))
	}
	return fine()
}

func throttled(f *Figures) (State, string) {
	if f.ThrottledNS <= 0 {
		return fine()
	}
	held := measure.Duration(float64(f.ThrottledNS))
	if share := float64(f.ThrottledNS) / (f.Seconds * 1e9); share > ThrottledInvalid {
		return invalid("the generator's control group was throttled for %s, above %.0f %% of the window: give it more processor time", held, 100*ThrottledInvalid)
	}
	return suspect("the generator's control group was throttled for %s, above 0: give it more processor time", held)
}

func waitedForProcessor(f *Figures) (State, string) {
	if f.Slices <= 0 || f.ServiceP50NS <= 0 {
		return fine()
	}
	mean := float64(f.RunDelayNS) / float64(f.Slices)
	if mean <= MaxRunDelay*f.ServiceP50NS {
		return fine()
	}
	return suspect("the generator's threads waited %s for a processor each time, above %.0f %% of the median service time (%s)",
		measure.Duration(mean), 100*MaxRunDelay, measure.Duration(f.ServiceP50NS))
}

func late(f *Figures) (State, string) {
	limit := math.Max(float64(MinLateness), MaxLateness*f.ResponseP50NS)
	if !f.OpenLoop || f.LatenessP99NS <= limit {
		return fine()
	}
	return suspect("operations were sent late: %s at p99, above %s (the larger of %s and %.0f %% of the median response time)",
		measure.Duration(f.LatenessP99NS), measure.Duration(limit), measure.Duration(float64(MinLateness)), 100*MaxLateness)
}

func generatorBusy(f *Figures) (State, string) {
	if f.Loops <= 0 || f.Seconds <= 0 {
		return fine()
	}
	busy := float64(f.LoopCPUNS) / (float64(f.Loops) * f.Seconds * 1e9)
	if busy <= MaxLoopBusy {
		return fine()
	}
	return suspect("the generator's loops were at work for %.0f %% of the time, above %.0f %%: the figures are the generator's limit as much as the store's",
		100*busy, 100*MaxLoopBusy)
}

func stolen(f *Figures) (State, string) {
	if f.StolenShare <= MaxStolen {
		return fine()
	}
	return suspect("the machine's host took away %.1f %% of its processor time, above %.0f %%", 100*f.StolenShare, 100*MaxStolen)
}

func errorShare(f *Figures) (State, string) {
	if f.Succeeded == 0 || f.errors() <= MaxErrors {
		return fine()
	}
	return suspect("%d of %d operations failed (%s%s), above %s", f.Failed, f.Due, measure.Percent(f.errors()), f.kinds(), measure.Percent(MaxErrors))
}

func tooFewSamples(f *Figures) (State, string) {
	beyond := f.Due / 100
	if f.Succeeded == 0 || beyond >= MinBeyond {
		return fine()
	}
	return suspect("p99 needs more operations than %d: it has %d beyond it, below %d", f.Due, beyond, MinBeyond)
}

func memberLost(f *Figures) (State, string) {
	switch len(f.LostMembers) {
	case 0:
		return fine()
	case 1:
		return suspect("member %s was lost", f.LostMembers[0])
	}
	return suspect("members %s were lost", strings.Join(f.LostMembers, ", "))
}

func leaderChanged(f *Figures) (State, string) {
	switch {
	case f.TermChanges <= 0:
		return fine()
	case f.TermChanges == 1:
		return suspect("the cluster elected a leader in the window")
	}
	return suspect("the cluster elected a leader %d times in the window", f.TermChanges)
}

func carriedIn(f *Figures) (State, string) {
	if time.Duration(f.CarriedInAgeNS) <= MaxCarriedInAge {
		return fine()
	}
	return suspect("the window opened on an operation that had been in flight for %s, above %s (%d were in flight)",
		measure.Duration(float64(f.CarriedInAgeNS)), measure.Duration(float64(MaxCarriedInAge)), f.CarriedIn)
}

func inFlightLimit(f *Figures) (State, string) {
	if f.Capped == 0 {
		return fine()
	}
	return suspect("%d operations were held back because %d were in flight already, the limit", f.Capped, f.MaxInFlight)
}

func notDurable(f *Figures) (State, string) {
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

func misses(f *Figures) (State, string) {
	switch {
	case f.Misses > 0 && f.Misses == f.Succeeded && !f.Writes:
		return suspect("none of the %d reads found a key: nothing was read", f.Misses)
	case f.Misses == 0 || !f.Preloaded || f.Deletes:
		return fine()
	}
	return suspect("%d reads found no key, although every key was written before", f.Misses)
}

func interrupted(f *Figures) (State, string) {
	if !f.Interrupted {
		return fine()
	}
	return suspect("the window was interrupted after %.3g s", f.Seconds)
}
