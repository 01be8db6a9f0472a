package verdict

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// MinUniqueSize is the size in bytes from which a value carries who wrote it.
const MinUniqueSize = 16

// FullMachine is the share of a machine's processor time that is in use from which on a
// note says that its members may have been slowed down, where nobody knows by whom.
const FullMachine = 0.85

// MinAchieved is the share of what was due in an open loop's window below which
// a note says who fell behind.
const MinAchieved = 0.99

// minHistoryShare is the least share of the writes to the members' disk of which a note
// says that it is the history's.
const minHistoryShare = 0.01

// fellBehind reports whether an open loop's store completed less in the window
// than was due in it: by more than what was in flight when it opened, and by
// more than chance, which makes counts differ by their root.
func (f *Figures) fellBehind() bool {
	if !f.OpenLoop || f.Seconds <= 0 {
		return false
	}
	due, ended := float64(f.Due), float64(f.Done+f.Failed)
	for _, held := range []kv.Outcome{kv.NotSent, kv.TimedOut} {
		ended -= float64(f.FailedBy[held.String()]) // it did not answer these
	}
	return ended < MinAchieved*due && due-ended > 3*math.Sqrt(due)+float64(f.CarriedIn)
}

// The shares of the mean response time that the generator itself added: from where on it
// is named as one that fell behind, and from where on as the one that did.
const (
	partlyOwn = 0.1
	mostlyOwn = 0.5
)

// behindNote says who fell behind the schedule: the store, if what was due waited there or
// for its connections, or the generator, if it sent operations or read answers late itself.
func behindNote(f *Figures) string {
	rates := fmt.Sprintf("%.0f/s were due and %.0f/s completed", float64(f.Due)/f.Seconds, float64(f.Done)/f.Seconds)
	switch own := f.ownShare(); {
	case own >= mostlyOwn:
		return fmt.Sprintf("The generator fell behind: %s, and %s of the time from when an operation was due to its end was the generator's own delay. The store shows no queue that explains it.", rates, text.Share(own))
	case own >= partlyOwn:
		return fmt.Sprintf("The load fell behind: %s. The generator's own delay is %s of the time from when an operation was due to its end, and the store's the rest.", rates, text.Share(own))
	}
	return "The store fell behind: " + rates + "."
}

// ownShare returns the share of the operations' time that the generator itself added. What
// was never sent, although no connection and no limit kept it back, waited for nothing else.
func (f *Figures) ownShare() float64 {
	own := 0.0
	if mean := f.Added.Sampled.Mean; mean.Known && mean.NS > 0 {
		own = min(f.Added.MeanNS/mean.NS, 1)
	}
	free := f.FailedBy[kv.NotSent.String()]
	free -= min(free, f.Capped+f.NoRoom)
	return max(own, float64(free)/max(float64(f.Due)-float64(min(f.Done, f.Due)), 1))
}

// faultNote says what of the window's figures is meant.
func faultNote(f *Figures) string {
	text := fmt.Sprintf("Members were broken on purpose (faults: %d), and the outages are in the window's figures", f.Injected)
	if f.MeantErrors > 0 {
		text += fmt.Sprintf("; R11 leaves out the errors of that time (%d)", f.MeantErrors)
	}
	return text + "."
}

// connectionNote says why the headline of a closed loop is the response time.
func connectionNote(f *Figures) string {
	share := ""
	if mean := f.Response.Mean; mean.Known && mean.NS > 0 {
		share = ", " + text.Share(f.ConnectionWaitNS/mean.NS) + " of its response time,"
	}
	return fmt.Sprintf("Times are response times: an operation waited on average %s%s until its connection took it (clients: %d, connections: %d); with more connections the clients ask more of the store.",
		text.Duration(f.ConnectionWaitNS), share, f.Clients, f.Connections)
}

func notes(f *Figures) []string {
	var list []string
	if f.Writes && f.ValueSize < MinUniqueSize {
		list = append(list, fmt.Sprintf("Values of %d bytes are not unique; from %d bytes up they are.", f.ValueSize, MinUniqueSize))
	}
	if f.Writes && !f.DurabilityKnown {
		list = append(list, "Durability is not known: the members' data folders were not looked at.")
	}
	if f.Writes && f.DurabilityKnown && !f.durable() && f.VolatileMeant {
		list = append(list, fmt.Sprintf("Durability is not exercised, as the scenario means: %s.", volatility(f)))
	}
	if f.fellBehind() {
		list = append(list, behindNote(f))
	}
	if f.HeadlineIsResponse && !f.OpenLoop {
		list = append(list, connectionNote(f))
	}
	if busy := f.BusyShare + f.StolenShare; f.MembersShare && !f.ForeignKnown && len(f.Hosts) == 0 && busy > FullMachine {
		list = append(list, fmt.Sprintf("The machine, on which members run too, was busy for %s of the time, and how much of that other programs used is not known: where they did, times may be too high and throughput too low.", text.Share(busy)))
	}
	if f.Injected > 0 {
		list = append(list, faultNote(f))
	}
	if f.HistoryShare >= minHistoryShare {
		list = append(list, fmt.Sprintf("The history for the check is on the disk of the members' data: %.0f %% of what both wrote in the window; the run directory may lie on another disk.", 100*f.HistoryShare))
	}
	if n := f.Events.Resubscribed; n > 0 {
		list = append(list, fmt.Sprintf("Watchers were created again %d times, after their connection had been lost.", n))
	}
	return list
}
