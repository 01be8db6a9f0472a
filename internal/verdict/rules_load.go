package verdict

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/stat"
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
	MinBeyond = measure.MinBeyond
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
	m := f.Measured
	switch {
	case m.Succeeded() > 0:
		return noFinding()
	case m.Due == 0:
		return invalid("no operation was due in the window")
	}
	return invalid("none of the %d operations due in the window completed", m.Due)
}

// R2CountsDiffer reports that the number of due operations differs from the number of completed
// operations plus errors.
func R2CountsDiffer(f *Figures) finding {
	due, succeeded, timed := f.Measured.Due, f.Measured.Succeeded(), measure.Count(f.Merged.Response)+f.Merged.CountFailed()
	switch {
	case succeeded+f.failed() != due:
		return invalid("%d operations were due, but %d completed and %d failed", due, succeeded, f.failed())
	case timed != due:
		return invalid("%d operations were due, but %d were timed", due, timed)
	}
	return noFinding()
}

// R3WrongResponses reports responses with wrong keys or values.
func R3WrongResponses(f *Figures) finding {
	wrong := uint64(0)
	for _, t := range f.phases() {
		wrong += t.Outcomes[kv.WrongResponse]
	}
	if wrong == 0 {
		return noFinding()
	}
	return invalid("%s in the warm-up and the window (a wrong key, a damaged value, or a protocol violation)", text.Plural(wrong, "wrong response"))
}

// R4LittlesLaw reports a closed loop whose figures contradict Little's law. It compares the number
// of clients with the mean number of busy clients. It computes that mean in two ways: from the
// generator's counts, and as the sum of the operations' times divided by the window's length. To
// both results it adds the clients that rested after a refusal, because they have no operation in
// progress. A client's first operation may begin before the window, and its last operation may end
// after the window. So, for each client, each edge of the window can change the sum by up to the
// duration of the longest operation.
func R4LittlesLaw(f *Figures) finding {
	if f.Measured.HasLostWorker() { // the last operations of the lost worker's clients are unknown
		return noFinding()
	}
	m := f.Measured
	if f.OpenLoop || m.Seconds <= 0 || f.Clients == 0 || m.Due < uint64(f.Clients) {
		return noFinding()
	}
	total, longest := f.operationTimes()
	if total == 0 {
		return noFinding()
	}
	window := m.Seconds * 1e9
	clients := float64(f.Clients)
	tolerance := clients * (MaxLittleDeviation + longest/window)
	resting := m.MeanResting + f.meanInactiveClients()
	if busy := total/window + resting; math.Abs(busy-clients) > tolerance {
		return invalid("the figures imply %.4g busy clients (%.0f operations/s × %s), but the load has %d clients; the numbers differ by more than %s",
			busy, float64(m.Due)/m.Seconds, text.Duration(total/float64(m.Due)), f.Clients, text.Percent(MaxLittleDeviation, 0))
	}
	if m.MeanInFlight > 0 && math.Abs(m.MeanInFlight+resting-clients) > tolerance {
		return invalid("on average, %.4g operations were in flight and %.4g clients rested after a refusal, but the load has %d clients; the numbers differ by more than %s",
			m.MeanInFlight, resting, f.Clients, text.Percent(MaxLittleDeviation, 0))
	}
	return noFinding()
}

// operationTimes returns the sum of the times of all operations in the window. It also returns the
// longest time of any operation that was in the window or in flight when the window opened. The
// operations that were in flight when the window opened are in the histograms of the warm-up.
// Without these histograms, it assumes that such an operation may have taken as long as the window.
func (f *Figures) operationTimes() (total, longest float64) {
	total, longest = sumTimes(f.Merged)
	switch {
	case f.Measured.InFlightAtStart == 0:
	case f.Warmup == nil:
		longest = max(longest, 1e9*f.Measured.Seconds)
	default:
		_, longestInWarmup := sumTimes(f.Warmup.MergedCell())
		longest = max(longest, longestInWarmup)
	}
	return total, longest
}

// sumTimes returns the sum of the times of all operations in a cell, including those that failed.
// It also returns the longest of these times.
func sumTimes(c *measure.Cell) (total, longest float64) {
	for _, h := range append(c.Failed[:], c.Response) {
		if n := measure.Count(h); n > 0 {
			total += h.Mean() * float64(n)
			longest = max(longest, float64(h.Max()))
		}
	}
	return total, longest
}

// R11Errors reports that too many operations failed.
func R11Errors(f *Figures) finding {
	if f.Measured.Succeeded() == 0 || f.errorShare() <= MaxErrors {
		return noFinding()
	}
	failed, due := f.failed(), f.Measured.Due
	if f.ErrorsInFaults > 0 {
		return suspect("%d of %d operations failed outside faults (%s, limit %s)", failed-f.ErrorsInFaults, due, text.Share(f.errorShare()), text.Share(MaxErrors))
	}
	return suspect("%d of %d operations failed (%s%s), limit %s", failed, due, text.Share(f.errorShare()), f.errorKindsText(), text.Share(MaxErrors))
}

// R12TooFewSamples reports that too few operations are beyond p99.
func R12TooFewSamples(f *Figures) finding {
	beyond := f.Measured.Due / 100
	if f.Measured.Succeeded() == 0 || beyond >= MinBeyond {
		return noFinding()
	}
	return suspect("%d operations are too few for p99: %d are beyond p99, but %d are necessary", f.Measured.Due, beyond, MinBeyond).restrictTo("p99", "p99.9", "max")
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
	m := f.Measured
	age := float64(m.OldestInFlightAge)
	excess := age - max(2*measure.Percentile(f.Merged.Response, 0, 99).NS, float64(MinOldestInFlightAge))
	if excess <= 0 || m.Seconds <= 0 {
		return noFinding()
	}
	stallShare := excess / (m.Seconds * 1e9)
	return f.judgeEffect(uniformEffect(stallShare, stallShare), "when the window opened, the oldest operation had been in flight for %s (%d operations were in flight)",
		text.Duration(age), m.InFlightAtStart)
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
	m := f.Measured
	if !f.OpenLoop || m.WaitedForLimit+m.WaitedForConnection == 0 {
		return noFinding()
	}
	summary, waits := measure.Summarize(f.Merged.Response, 0), waitTimes(&m.Disturbance)
	e, serviceP50 := Effect{}, measure.Percentile(f.Merged.Service, 0, 50).NS
	for i, response := range timesFromSummary(&summary) {
		e.Times[i] = excess(response, max(response-waits[i], serviceP50))
	}
	if m.WaitedForLimit > 0 {
		return f.judgeEffect(e, "%d of %d operations waited because the maximum of %d operations was in flight (max-in-flight)", m.WaitedForLimit, m.Due, f.MaxInFlight)
	}
	const waited = "%d of %d operations waited for a free connection"
	if m.WaitedForConnection > m.Due/2 && f.errorShare() >= 0.5 {
		// The median and all higher percentiles are failed operations.
		return suspect(waited, m.WaitedForConnection, m.Due)
	}
	return f.judgeEffect(e, waited, m.WaitedForConnection, m.Due)
}

// waitTimes returns quantiles and the mean of the time for which operations waited because no
// connection was free or because the limit on operations in flight was reached. The results cover
// all operations that were sent, although the histogram contains only the operations that waited.
func waitTimes(d *measure.Disturbance) (times Times) {
	sent, some := float64(measure.Count(d.OwnDelay)), float64(measure.Count(d.BlockedDelay))
	if some == 0 {
		return times
	}
	for i, p := range Quantiles() {
		if above := (1 - p/100) * sent; some > above {
			times[i] = float64(d.BlockedDelay.ValueAtQuantile(100 * (1 - above/some)))
		}
	}
	times[MeanIndex] = d.BlockedDelay.Mean() * some / max(sent, some)
	return times
}

// R25Unsteady reports a closed loop whose throughput changed during the window. A store that fills
// up, compacts or throttles becomes slower, and a store that is still warming up becomes faster.
// The figures then depend on the length of the window.
func R25Unsteady(f *Figures) finding {
	whole := min(int(f.Measured.Seconds), len(f.DoneEachSecond)) // whole seconds; if whole is odd, the middle second is in neither half
	if f.OpenLoop || f.Injected > 0 || whole/2 < MinHalfSeconds {
		return noFinding()
	}
	first, firstError := meanThroughput(f.DoneEachSecond[:whole/2])
	second, secondError := meanThroughput(f.DoneEachSecond[whole-whole/2 : whole])
	mean, difference := (first+second)/2, math.Abs(first-second)
	if difference <= MaxDrift*mean || difference <= maxDriftErrors*math.Hypot(firstError, secondError) {
		return noFinding()
	}
	return suspect("the throughput was %.0f/s in the first half of the window and %.0f/s in the second half, a difference of more than %s",
		first, second, text.Share(MaxDrift))
}

// meanThroughput returns the mean throughput over at least two seconds. It estimates the standard
// error of the mean from the differences between the seconds.
func meanThroughput(done []uint64) (mean, standardError float64) {
	perSecond := make([]float64, len(done))
	for i, n := range done {
		perSecond[i] = float64(n)
	}
	mean, deviation := stat.MeanStdDev(perSecond)
	return mean, deviation / math.Sqrt(float64(len(done)))
}

// R17NotDurable reports writes that are lost at a power loss, because of the file system or because
// the store does not sync.
func R17NotDurable(f *Figures) finding {
	if !f.losesWrites() || f.AllowVolatile {
		return noFinding()
	}
	return suspect("%s", volatility(f.Durability))
}

func volatility(d *measure.Durability) string {
	switch {
	case d.Volatile && !d.Synced:
		return fmt.Sprintf("the store is configured not to sync, and its data is on %s", d.FileSystem)
	case d.Volatile:
		return fmt.Sprintf("the members' data is on %s, which loses the data in a power loss", d.FileSystem)
	}
	return "the store is configured not to sync"
}

// R18MissingKeys reports reads that did not find keys which were written before the window.
func R18MissingKeys(f *Figures) finding {
	misses := f.Measured.Outcomes[kv.Miss]
	switch empty := alwaysMissing(f.Measured); {
	case len(empty) > 0:
		return suspect("no operation of these kinds found a key: %s", strings.Join(empty, ", "))
	case misses == 0 || !f.Preloaded || f.HasDeletes:
		return noFinding()
	}
	return suspect("%s did not find keys that had been written before the window", text.Plural(misses, "read"))
}

// alwaysMissing lists the kinds of operations that read or delete keys, but never found a key. Each
// entry also has the number of operations of this kind, for example "7 get".
func alwaysMissing(m *measure.Totals) (list []string) {
	var done [kv.NumKinds]uint64
	for _, c := range m.Cells {
		done[c.Kind] += measure.Count(c.Response)
	}
	for kind, missed := range m.Misses {
		if missed > 0 && missed == done[kind] {
			list = append(list, fmt.Sprintf("%d %v", missed, kv.Kind(kind)))
		}
	}
	return list
}

// R19Interrupted reports a trial that was interrupted.
func R19Interrupted(f *Figures) finding {
	if !f.Interrupted {
		return noFinding()
	}
	return suspect("the window was interrupted after %.3g s", f.Measured.Seconds)
}
