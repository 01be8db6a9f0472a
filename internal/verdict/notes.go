package verdict

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// MinUniqueSize is the smallest size in bytes of a value with its writer and a checksum.
const MinUniqueSize = 16

// FullMachine is the share of a machine's CPU time above which a note reports that members may
// have been slowed down, if the CPU use of other programs is unknown.
const FullMachine = 0.85

// MinAchieved is the share of an open loop's due operations below which a note reports what
// fell behind.
const MinAchieved = 0.99

// minHistoryShare is the smallest share of the writes to the members' disk that a note
// attributes to the history.
const minHistoryShare = 0.01

// fellBehind reports whether fewer operations of an open loop ended in the window than were
// due in it. The difference must exceed the operations in flight at the start, and chance,
// which makes counts differ by their square root.
func (f *Figures) fellBehind() bool {
	if !f.OpenLoop || f.Seconds <= 0 {
		return false
	}
	due, ended := float64(f.Due), float64(f.Done+f.Failed)
	for _, held := range []kv.Outcome{kv.NotSent, kv.TimedOut} {
		ended -= float64(f.FailedBy[held.String()]) // these got no response
	}
	return ended < MinAchieved*due && due-ended > 3*math.Sqrt(due)+float64(f.CarriedIn)
}

// The generator's shares of the mean response time above which a note names it as one cause of
// falling behind, and as the main cause.
const (
	partlyOwn = 0.1
	mostlyOwn = 0.5
)

// behindNote reports what fell behind the schedule: the store, if operations waited there or
// for its connections, or the generator, if it sent operations or read responses late.
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

// ownShare returns the generator's share of the operations' time. An operation that was never
// sent although neither a connection nor a limit held it back waited for the generator only.
func (f *Figures) ownShare() float64 {
	own := 0.0
	if mean := f.Added.Sampled.Mean; mean.Known && mean.NS > 0 {
		own = min(f.Added.MeanNS/mean.NS, 1)
	}
	free := f.FailedBy[kv.NotSent.String()]
	free -= min(free, f.Capped+f.NoRoom)
	return max(own, float64(free)/max(float64(f.Due)-float64(min(f.Done, f.Due)), 1))
}

// faultNote reports that injected faults are part of the window's figures.
func faultNote(f *Figures) string {
	text := fmt.Sprintf("Faults were injected (%d), and their outages are part of the figures", f.Injected)
	if f.ErrorsInFaults > 0 {
		text += fmt.Sprintf("; R11 does not count the errors during faults (%d)", f.ErrorsInFaults)
	}
	return text + "."
}

// connectionNote explains why the headline of a closed loop is the response time.
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
