package verdict

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// MinUniqueSize is the size, in bytes, from which a value contains its writer and a checksum.
const MinUniqueSize = 16

// FullMachine is the fraction of a machine's CPU time above which a note says that members may have
// been slowed down. The note is used if the CPU use of other programs is unknown.
const FullMachine = 0.85

// MinAchieved is the fraction of due operations in an open loop below which a note says what fell
// behind.
const MinAchieved = 0.99

// minHistoryShare is the history's fraction of the writes to the members' disk from which a note
// reports it.
const minHistoryShare = 0.01

// fellBehind reports whether fewer operations of an open loop ended in the window than were due in
// it. The difference must be larger than the number of operations in flight at the start plus
// random variation, which is the square root of the count.
func (f *Figures) fellBehind() bool {
	if !f.OpenLoop || f.Seconds <= 0 {
		return false
	}
	due, ended := float64(f.Due), float64(f.Done+f.Failed)
	for _, held := range []kv.Outcome{kv.NotSent, kv.TimedOut} {
		ended -= float64(f.FailedBy[held.String()]) // these received no response
	}
	return ended < MinAchieved*due && due-ended > 3*math.Sqrt(due)+float64(f.CarriedIn)
}

// The generator's fractions of the mean response time: above the first, a note names it as one
// cause of falling behind; above the second, as the main cause.
const (
	partlyOwn = 0.1
	mostlyOwn = 0.5
)

// behindNote reports what fell behind the schedule. It is the store if operations waited in the
// store or for its connections, and the generator if it sent operations or read responses late.
func behindNote(f *Figures) string {
	rates := fmt.Sprintf("%s were due and %s completed", text.PerSecond(float64(f.Due)/f.Seconds), text.PerSecond(float64(f.Done)/f.Seconds))
	switch own := f.ownShare(); {
	case own >= mostlyOwn:
		return fmt.Sprintf("The load generator fell behind: %s. Its own delay was %s of the mean response time, and the store had no queue that explains it.", rates, text.Share(own))
	case own >= partlyOwn:
		return fmt.Sprintf("The load fell behind: %s. The load generator's own delay was %s of the mean response time, and the rest was the store's.", rates, text.Share(own))
	}
	return "The store fell behind: " + rates + "."
}

// ownShare returns the generator's fraction of the operations' time. If an operation was never sent
// and waited neither for a connection nor for a limit, the generator alone delayed it.
func (f *Figures) ownShare() float64 {
	own := 0.0
	if mean := f.Added.Sampled.Mean; mean.Known && mean.NS > 0 {
		own = min(f.Added.MeanNS/mean.NS, 1)
	}
	free := f.FailedBy[kv.NotSent.String()]
	free -= min(free, f.Capped+f.NoRoom)
	return max(own, float64(free)/max(float64(f.Due)-float64(min(f.Done, f.Due)), 1))
}

// faultNote reports that the window's figures include injected faults.
func faultNote(f *Figures) string {
	text := fmt.Sprintf("Faults were injected (%d), and their outages are part of the figures", f.Injected)
	if f.ErrorsInFaults > 0 {
		text += fmt.Sprintf("; R11 does not count the errors during faults (%d)", f.ErrorsInFaults)
	}
	return text + "."
}

// connectionNote explains why the times that a closed loop prints first are response times.
func connectionNote(f *Figures) string {
	share := ""
	if mean := f.Response.Mean; mean.Known && mean.NS > 0 {
		share = " (" + text.Share(f.ConnectionWaitNS/mean.NS) + " of its response time)"
	}
	return fmt.Sprintf("Times are response times, because an operation waited on average %s%s for its connection (clients: %d, connections: %d). Use more connections to put more load on the store.",
		text.Duration(f.ConnectionWaitNS), share, f.Clients, f.Connections)
}

func notes(f *Figures) []string {
	var list []string
	if f.Writes && f.ValueSize < MinUniqueSize {
		list = append(list, fmt.Sprintf("Values of %d bytes carry no checksum, so wrong reads go undetected. Use values of at least %d bytes.", f.ValueSize, MinUniqueSize))
	}
	if f.Writes && !f.DurabilityKnown {
		list = append(list, "Durability unknown: fdatasync was not measured. Set data-dir to the data folder of a local member.")
	}
	if f.Writes && f.DurabilityKnown && !f.durable() && f.VolatileAllowed {
		list = append(list, fmt.Sprintf("Durability is off, as the scenario allows (allow-volatile): %s.", volatility(f)))
	}
	if f.fellBehind() {
		list = append(list, behindNote(f))
	}
	if f.HeadlineIsResponse && !f.OpenLoop {
		list = append(list, connectionNote(f))
	}
	if busy := f.BusyShare + f.StolenShare; f.MembersShare && !f.ForeignKnown && len(f.Hosts) == 0 && busy > FullMachine {
		list = append(list, fmt.Sprintf("The machine, which also runs members, was %s busy. The share of other programs is unknown: they may have made times too high and throughput too low.", text.Share(busy)))
	}
	if f.Injected > 0 {
		list = append(list, faultNote(f))
	}
	if f.HistoryShare >= minHistoryShare {
		list = append(list, fmt.Sprintf("The history made %.0f %% of the writes to the members' disk in the window. Put the run directory on another disk.", 100*f.HistoryShare))
	}
	if n := f.Events.Resubscribed; n > 0 {
		list = append(list, fmt.Sprintf("Watchers were re-created %s after they had lost their connection.", text.Plural(n, "time")))
	}
	return list
}
