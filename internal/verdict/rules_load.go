package verdict

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// These are the limits of the rules that do not judge an effect. A figure that is equal to its
// limit does not exceed it.
const (
	// MaxLittleDeviation is the largest allowed difference, as a fraction, between the number of
	// clients and the mean number of busy clients according to Little's law (R4).
	MaxLittleDeviation = 0.05
	// MaxErrors is the fraction of due operations that may fail (R11).
	MaxErrors = 0.001
	// MinBeyond is the minimum number of operations beyond p99 (R12).
	MinBeyond = 10
	// MinOldestInFlightAge is the age up to which R15 ignores operations that were in flight when
	// the window opened.
	MinOldestInFlightAge = 100 * time.Millisecond
)

// R25 has two limits for the difference between the throughputs of the window's halves. MaxDrift is
// a fraction of the mean throughput. maxDriftErrors is a multiple of the standard error of the
// difference. R25 ignores halves that are shorter than MinHalfSeconds.
const (
	MaxDrift       = 0.10
	maxDriftErrors = 4
	MinHalfSeconds = 15
)

// R1NothingCompleted reports a window in which no due operation completed.
func R1NothingCompleted(f *Figures) finding {
	switch {
	case f.Succeeded > 0:
		return noFinding()
	case f.Due == 0:
		return invalid("no operation was due in the window")
	}
	return invalid("none of the %d operations due in the window completed", f.Due)
}

// R2CountsDiffer reports that the number of due operations differs from the number of completed
// operations plus errors.
func R2CountsDiffer(f *Figures) finding {
	switch {
	case f.Succeeded+f.Failed != f.Due:
		return invalid("%d operations were due, but %d completed and %d failed", f.Due, f.Succeeded, f.Failed)
	case f.Timed != f.Due:
		return invalid("%d operations were due, but %d were timed", f.Due, f.Timed)
	}
	return noFinding()
}

// R3WrongResponses reports responses with wrong keys or values.
func R3WrongResponses(f *Figures) finding {
	if f.WrongResponses == 0 {
		return noFinding()
	}
	return invalid("%s in the warm-up and the window (a wrong key, a damaged value, or a protocol violation)", text.Plural(f.WrongResponses, "wrong response"))
}

// R4LittlesLaw reports a closed loop whose figures contradict Little's law. It compares the number
// of clients with the mean number of busy clients. It computes that mean in two ways: from the
// generator's counts, and as the sum of the operations' times divided by the window's length. To
// both results it adds the clients that rested after a refusal, because they have no operation in
// progress. A client's first operation may begin before the window, and its last operation may end
// after the window. So, for each client, each edge of the window can change the sum by up to the
// duration of the longest operation.
func R4LittlesLaw(f *Figures) finding {
	if hasLostWorker(f) { // the last operations of the lost worker's clients are unknown
		return noFinding()
	}
	if f.OpenLoop || f.Seconds <= 0 || f.Clients == 0 || f.Due < uint64(f.Clients) || f.TotalNS == 0 {
		return noFinding()
	}
	window := f.Seconds * 1e9
	clients := float64(f.Clients)
	tolerance := clients * (MaxLittleDeviation + f.LongestNS/window)
	resting := f.MeanResting
	if busy := f.TotalNS/window + resting; math.Abs(busy-clients) > tolerance {
		return invalid("the figures imply %.4g busy clients (%.0f operations/s × %s), but the load has %d clients; the numbers differ by more than %s",
			busy, float64(f.Due)/f.Seconds, text.Duration(f.TotalNS/float64(f.Due)), f.Clients, text.Percent(MaxLittleDeviation, 0))
	}
	if f.MeanInFlight > 0 && math.Abs(f.MeanInFlight+resting-clients) > tolerance {
		return invalid("on average, %.4g operations were in flight and %.4g clients rested after a refusal, but the load has %d clients; the numbers differ by more than %s",
			f.MeanInFlight, resting, f.Clients, text.Percent(MaxLittleDeviation, 0))
	}
	return noFinding()
}

// R11Errors reports that too many operations failed.
func R11Errors(f *Figures) finding {
	if f.Succeeded == 0 || f.errorShare() <= MaxErrors {
		return noFinding()
	}
	if f.ErrorsInFaults > 0 {
		return suspect("%d of %d operations failed outside faults (%s, limit %s)", f.Failed-f.ErrorsInFaults, f.Due, text.Share(f.errorShare()), text.Share(MaxErrors))
	}
	return suspect("%d of %d operations failed (%s%s), limit %s", f.Failed, f.Due, text.Share(f.errorShare()), f.errorKindsText(), text.Share(MaxErrors))
}

// R12TooFewSamples reports that too few operations are beyond p99.
func R12TooFewSamples(f *Figures) finding {
	beyond := f.Due / 100
	if f.Succeeded == 0 || beyond >= MinBeyond {
		return noFinding()
	}
	return suspect("%d operations are too few for p99: %d are beyond p99, but %d are necessary", f.Due, beyond, MinBeyond).restrictTo("p99", "p99.9", "max")
}

// R13MemberLost reports members that ended or stopped responding during the trial.
func R13MemberLost(f *Figures) finding {
	switch len(f.LostMembers) {
	case 0:
		return noFinding()
	case 1:
		return suspect("member %s stopped responding", f.LostMembers[0])
	}
	return suspect("members %s stopped responding", strings.Join(f.LostMembers, ", "))
}

// R14LeaderChange reports leader changes in the window.
func R14LeaderChange(f *Figures) finding {
	switch {
	case f.TermChanges <= 0:
		return noFinding()
	case f.TermChanges == 1:
		return suspect("the cluster elected a leader in the window")
	}
	return suspect("the cluster elected a leader %d times in the window", f.TermChanges)
}

// R15StallAtStart reports a window that opened during a stall: an operation in flight at that
// moment was unusually old. Operations that the stall held back complete when the stall ends. So
// the stall may have affected a part of the window that is as long as the stall.
func R15StallAtStart(f *Figures) finding {
	age := float64(f.OldestInFlightAgeNS)
	excess := age - max(2*f.Response.Percentile(99).NS, float64(MinOldestInFlightAge))
	if excess <= 0 || f.Seconds <= 0 {
		return noFinding()
	}
	stallShare := excess / (f.Seconds * 1e9)
	return f.judgeEffect(uniformEffect(stallShare, stallShare), "when the window opened, the oldest operation had been in flight for %s (%d operations were in flight)",
		text.Duration(age), f.InFlightAtStart)
}

// R16ClientLimit reports that operations of an open loop had to wait, because no connection was
// free or because the limit on operations in flight was reached. In a trial with faults, the
// finding is only a note. Operations are expected to wait during an outage, and the rule cannot
// know which operations waited because of an outage.
func R16ClientLimit(f *Figures) finding {
	found := inFlightLimit(f)
	if f.Injected > 0 && found.text != "" {
		return finding{state: Valid, text: found.text + "; the share that waited because of faults is unknown"}
	}
	return found
}

// inFlightLimit judges the time that operations waited outside the store, because the limit on
// operations in flight was reached or because no connection was free.
func inFlightLimit(f *Figures) finding {
	if !f.OpenLoop || f.WaitedForLimit+f.WaitedForConnection == 0 {
		return noFinding()
	}
	e, response := Effect{}, timesFromSummary(&f.Response)
	for i, is := range response {
		e.Times[i] = excess(is, max(is-f.Waiting[i], f.ServiceP50NS))
	}
	if f.WaitedForLimit > 0 {
		return f.judgeEffect(e, "%d of %d operations waited because the maximum of %d operations was in flight (max-in-flight)", f.WaitedForLimit, f.Due, f.MaxInFlight)
	}
	const waited = "%d of %d operations waited for a free connection"
	if f.WaitedForConnection > f.Due/2 && f.errorShare() >= 0.5 {
		// The median and all higher percentiles are failed operations.
		return suspect(waited, f.WaitedForConnection, f.Due)
	}
	return f.judgeEffect(e, waited, f.WaitedForConnection, f.Due)
}

// R25Unsteady reports a closed loop whose throughput changed during the window. A store that fills
// up, compacts or throttles becomes slower, and a store that is still warming up becomes faster.
// The figures then depend on the length of the window.
func R25Unsteady(f *Figures) finding {
	a, b := &f.Halves[0], &f.Halves[1]
	if f.OpenLoop || f.Injected > 0 || min(a.Seconds, b.Seconds) < MinHalfSeconds {
		return noFinding()
	}
	mean, difference := (a.PerSecond+b.PerSecond)/2, math.Abs(a.PerSecond-b.PerSecond)
	if difference <= MaxDrift*mean || difference <= maxDriftErrors*math.Hypot(a.StandardError, b.StandardError) {
		return noFinding()
	}
	return suspect("the throughput was %.0f/s in the first half of the window and %.0f/s in the second half, a difference of more than %s",
		a.PerSecond, b.PerSecond, text.Share(MaxDrift))
}

// R17NotDurable reports writes that are lost at a power loss, because of the file system or because
// the store does not sync.
func R17NotDurable(f *Figures) finding {
	if !f.HasWrites || !f.DurabilityKnown || f.durable() || f.VolatileAllowed {
		return noFinding()
	}
	return suspect("%s", volatility(f))
}

func volatility(f *Figures) string {
	switch {
	case f.Volatile && f.Unsynced:
		return fmt.Sprintf("the store is configured not to sync, and its data is on %s", f.FileSystem)
	case f.Volatile:
		return fmt.Sprintf("the members' data is on %s, which loses the data in a power loss", f.FileSystem)
	}
	return "the store is configured not to sync"
}

// R18MissingKeys reports reads that did not find keys which were written before the window.
func R18MissingKeys(f *Figures) finding {
	switch {
	case len(f.EmptyKinds) > 0:
		return suspect("no operation of these kinds found a key: %s", strings.Join(f.EmptyKinds, ", "))
	case f.Misses == 0 || !f.Preloaded || f.HasDeletes:
		return noFinding()
	}
	return suspect("%s did not find keys that had been written before the window", text.Plural(f.Misses, "read"))
}

// R19Interrupted reports a trial that was interrupted.
func R19Interrupted(f *Figures) finding {
	if !f.Interrupted {
		return noFinding()
	}
	return suspect("the window was interrupted after %.3g s", f.Seconds)
}
