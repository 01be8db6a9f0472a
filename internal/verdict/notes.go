package verdict

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// MinUniqueSize is the minimum size, in bytes, of a value that contains its writer and a checksum.
const MinUniqueSize = 16

// FullMachine is the fraction of a machine's CPU time above which a note says that other programs
// may have slowed members down. The note appears only if the CPU use of other programs is unknown.
const FullMachine = 0.85

// MinAchieved is a limit for open loops. If a smaller fraction of the due operations ended, a note
// says whether the store or the load generator fell behind.
const MinAchieved = 0.99

// minHistoryShare is the smallest HistoryShare that a note reports.
const minHistoryShare = 0.01

// fellBehind reports whether clearly fewer operations of an open loop ended in the window than were
// due in the window. The difference must be larger than the number of operations in flight at the
// start plus an allowance for chance: three times the square root of the number of due operations.
func (f *Figures) fellBehind() bool {
	m := f.Measured
	if !f.OpenLoop || m.Seconds <= 0 {
		return false
	}
	due, ended := float64(m.Due), float64(m.Done+f.failed())
	for _, held := range []kv.Outcome{kv.NotSent, kv.TimedOut} {
		ended -= float64(m.Outcomes[held]) // these received no response
	}
	return ended < MinAchieved*due && due-ended > 3*math.Sqrt(due)+float64(m.InFlightAtStart)
}

// These are limits for the generator's fraction of the mean response time. If the fraction is at
// least minGeneratorShare, a note says that the generator contributed to the delay. If it is at
// least majorGeneratorShare, the note says that the generator fell behind.
const (
	minGeneratorShare   = 0.1
	majorGeneratorShare = 0.5
)

// behindNote returns a note that says what fell behind the schedule. The store fell behind if
// operations waited in the store or for its connections. The generator fell behind if it sent
// operations or read responses late.
func behindNote(f *Figures) string {
	m := f.Measured
	rates := fmt.Sprintf("%s were due and %s completed", text.PerSecond(float64(m.Due)/m.Seconds), text.PerSecond(float64(m.Done)/m.Seconds))
	switch own := f.generatorShare(); {
	case own >= majorGeneratorShare:
		return fmt.Sprintf("The load generator fell behind: %s. Its own delay was %s of the mean response time, and no queue in the store explains the delay.", rates, text.Share(own))
	case own >= minGeneratorShare:
		return fmt.Sprintf("The load fell behind: %s. The load generator's own delay was %s of the mean response time, and the store caused the rest.", rates, text.Share(own))
	}
	return "The store fell behind: " + rates + "."
}

// generatorShare returns the fraction of the delay that the generator caused. This is the larger of
// two values. The first value is the generator's part of the mean response time. The second value
// is a part of the missing operations: those that were never sent although they waited neither for
// the limit on operations in flight nor for a connection. Only the generator can have delayed these
// operations.
func (f *Figures) generatorShare() float64 {
	share := 0.0
	if mean := f.Added.Sampled.Mean; mean.Known && mean.NS > 0 {
		share = min(f.Added.MeanNS/mean.NS, 1)
	}
	m := f.Measured
	free := m.Outcomes[kv.NotSent]
	free -= min(free, m.WaitedForLimit+m.WaitedForConnection)
	return max(share, float64(free)/max(float64(m.Due)-float64(min(m.Done, m.Due)), 1))
}

// faultNote returns a note that says that the window's figures include injected faults.
func faultNote(f *Figures) string {
	text := fmt.Sprintf("Faults were injected (%d), and their outages are part of the figures", f.Injected)
	if f.ErrorsInFaults > 0 {
		text += fmt.Sprintf("; R11 does not count the errors during faults (%d)", f.ErrorsInFaults)
	}
	return text + "."
}

// connectionNote returns a note that explains why reports print response times first for this
// closed loop.
func connectionNote(f *Figures) string {
	share := ""
	if h := f.Merged.Response; measure.Count(h) > 0 && h.Mean() > 0 {
		share = " (" + text.Share(f.ConnectionWaitNS/h.Mean()) + " of its response time)"
	}
	words := fmt.Sprintf("Times are response times, because an operation waited on average %s%s for its connection (clients: %d, connections: %d). ",
		text.Duration(f.ConnectionWaitNS), share, f.Clients, f.Connections)
	if f.Clients <= f.Connections {
		return words + "Each client has its own connection, so clients waited because lost connections had to be opened again."
	}
	if f.Injected > 0 {
		return words + "Connections that faults closed may have caused this."
	}
	return words + "Use more connections to put more load on the store."
}

func notes(f *Figures) []string {
	var list []string
	if f.HasWrites && f.ValueSize < MinUniqueSize {
		list = append(list, fmt.Sprintf("Values of %d bytes carry no checksum, so wrong reads go undetected. Use values of at least %d bytes.", f.ValueSize, MinUniqueSize))
	}
	if f.HasWrites && f.Durability == nil {
		list = append(list, "Durability unknown: fdatasync was not measured. Set data-dir to the data folder of a local member.")
	}
	if f.losesWrites() && f.AllowVolatile {
		list = append(list, fmt.Sprintf("Durability is off, as the scenario allows (allow-volatile): %s.", volatility(f.Durability)))
	}
	if f.fellBehind() {
		list = append(list, behindNote(f))
	}
	if f.HeadlineIsResponse && !f.OpenLoop {
		list = append(list, connectionNote(f))
	}
	if busy := f.BusyShare + f.StolenShare; f.MembersOnMachine && !f.ForeignKnown && len(f.Hosts) == 0 && busy > FullMachine {
		list = append(list, fmt.Sprintf("The machine, which also runs members, was %s busy. The share of other programs is unknown: they may have made times too high and throughput too low.", text.Share(busy)))
	}
	if f.Injected > 0 {
		list = append(list, faultNote(f))
	}
	if f.HistoryShare >= minHistoryShare {
		list = append(list, fmt.Sprintf("The history caused %s of the writes to the members' disk in the window. Put the run directory on another disk.", text.Percent(f.HistoryShare, 0)))
	}
	if w := f.Measured.Watching; w != nil && w.Resubscribed > 0 {
		list = append(list, fmt.Sprintf("Watchers were re-created %s after they had lost their connection.", text.Plural(w.Resubscribed, "time")))
	}
	return list
}
