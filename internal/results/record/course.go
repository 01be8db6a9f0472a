package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
)

// WindowSummary holds figures about the operations in flight during the window, and about events at
// connections, members and clients.
type WindowSummary struct {
	CarriedIn      uint64  `json:"carried_in"`
	CarriedInAgeNS int64   `json:"carried_in_age_ns"`
	HighestFlight  int     `json:"max_in_flight"`
	MeanInFlight   float64 `json:"mean_in_flight"`
	Capped         uint64  `json:"in_flight_capped"`
	NoRoom         uint64  `json:"waited_for_connection"` // open loop: operations that found all connections occupied
	// ConnectionWaitNS is the mean time for which an operation of a closed loop waited because
	// other clients' operations occupied its connection.
	ConnectionWaitNS float64 `json:"connection_wait_ns"`
	measure.ConnectionCounts
	measure.Counts
	LostMembers []string `json:"lost_members"`
	TermChanges int      `json:"leader_changes"`
	// Faults are the scenario's faults and their effects. ErrorsInFaults and TermChangesInFaults
	// count the Errors and TermChanges that occurred during a fault (see InFault).
	Faults              []Fault `json:"faults,omitempty"`
	ErrorsInFaults      uint64  `json:"errors_in_faults,omitempty"`
	TermChangesInFaults int     `json:"leader_changes_in_faults,omitempty"`
	// HeldClients counts the clients of a closed loop that still waited for a response from a
	// member after the load had moved to another member. HeldLongestNS is the longest of these
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
