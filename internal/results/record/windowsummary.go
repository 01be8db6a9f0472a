package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
)

// WindowSummary holds figures about operations in flight during the window, and about events that
// concern connections, members and clients.
type WindowSummary struct {
	InFlightAtStart     uint64  `json:"carried_in"`
	OldestInFlightAgeNS int64   `json:"carried_in_age_ns"`
	PeakInFlight        int     `json:"max_in_flight"`
	MeanInFlight        float64 `json:"mean_in_flight"`
	WaitedForLimit      uint64  `json:"in_flight_capped"`
	WaitedForConnection uint64  `json:"waited_for_connection"` // open loop: number of operations that had to wait because all connections were occupied
	// ConnectionWaitNS is the mean time for which an operation of a closed loop waited for its
	// connection, because operations of other clients occupied the connection.
	ConnectionWaitNS float64 `json:"connection_wait_ns"`
	measure.ConnectionCounts
	measure.Counts
	LostMembers []string `json:"lost_members"`
	TermChanges int      `json:"leader_changes"`
	// Faults holds the scenario's faults. In run.json, they are without their Recovery.
	// ErrorsInFaults and TermChangesInFaults are the parts of Errors and TermChanges that occurred
	// during a fault (see InFault).
	Faults              []Fault `json:"faults,omitempty"`
	ErrorsInFaults      uint64  `json:"errors_in_faults,omitempty"`
	TermChangesInFaults int     `json:"leader_changes_in_faults,omitempty"`
	// StrandedClients is the number of clients of a closed loop that still waited for a response
	// from one member after the load had moved to another member. LongestStrandedNS is the longest
	// of these waits.
	StrandedClients   int   `json:"held_clients"`
	LongestStrandedNS int64 `json:"held_longest_ns"`
}

func (t *Trial) setWindowSummary(o *Observed, m *measure.Totals) {
	t.InFlightAtStart, t.OldestInFlightAgeNS = m.InFlightAtStart, m.OldestInFlightAge
	t.PeakInFlight, t.MeanInFlight, t.WaitedForLimit, t.WaitedForConnection = m.MaxInFlight, m.MeanInFlight, m.WaitedForLimit, m.WaitedForConnection
	t.WindowSummary.Counts, t.ConnectionCounts = m.Counts, m.ConnectionCounts
	t.LostMembers = append(t.LostMembers, o.LostMembers...)
	t.TermChanges = o.TermChanges
	t.Faults, t.ErrorsInFaults, t.TermChangesInFaults = o.Faults, min(o.ErrorsInFaults, t.Errors), o.TermChangesInFaults
	t.StrandedClients, t.LongestStrandedNS = m.Stranded, m.LongestStranded
}
