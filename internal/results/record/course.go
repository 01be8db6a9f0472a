package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
)

// WindowSummary holds figures about operations in flight during the window, and about events that
// concern connections, members and clients.
type WindowSummary struct {
	CarriedIn      uint64  `json:"carried_in"`
	CarriedInAgeNS int64   `json:"carried_in_age_ns"`
	HighestFlight  int     `json:"max_in_flight"`
	MeanInFlight   float64 `json:"mean_in_flight"`
	Capped         uint64  `json:"in_flight_capped"`
	NoRoom         uint64  `json:"waited_for_connection"` // open loop: number of operations that had to wait because all connections were occupied
	// ConnectionWaitNS is the mean time for which an operation of a closed loop waited for its
	// connection, because operations of other clients occupied the connection.
	ConnectionWaitNS float64 `json:"connection_wait_ns"`
	measure.ConnectionCounts
	measure.Counts
	LostMembers []string `json:"lost_members"`
	TermChanges int      `json:"leader_changes"`
	// Faults holds the scenario's faults and their effects. ErrorsInFaults and TermChangesInFaults
	// are the parts of Errors and TermChanges that occurred during a fault (see InFault).
	Faults              []Fault `json:"faults,omitempty"`
	ErrorsInFaults      uint64  `json:"errors_in_faults,omitempty"`
	TermChangesInFaults int     `json:"leader_changes_in_faults,omitempty"`
	// HeldClients is the number of clients of a closed loop that still waited for a response from
	// one member after the load had moved to another member. HeldLongestNS is the longest of these
	// waits.
	HeldClients   int   `json:"held_clients"`
	HeldLongestNS int64 `json:"held_longest_ns"`
}

func (t *Trial) setWindowSummary(o *Observed, m *measure.Totals) {
	t.CarriedIn, t.CarriedInAgeNS = m.CarriedIn, m.CarriedInAge
	t.HighestFlight, t.MeanInFlight, t.Capped, t.NoRoom = m.MaxInFlight, m.MeanInFlight, m.Capped, m.NoRoom
	t.WindowSummary.Counts, t.ConnectionCounts = m.Counts, m.ConnectionCounts
	t.LostMembers = append(t.LostMembers, o.LostMembers...)
	t.TermChanges = o.TermChanges
	t.Faults, t.ErrorsInFaults, t.TermChangesInFaults = o.Faults, min(o.ErrorsInFaults, t.Errors), o.TermChangesInFaults
	t.HeldClients, t.HeldLongestNS = m.Held, m.HeldLongest
}
