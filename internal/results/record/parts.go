package record

import "github.com/quorumbench/quorumbench/internal/measure"

// Parts holds the results by role, operation, member, worker, host and client, and results that
// only some loads have.
type Parts struct {
	ByRole      []Served `json:"by_role"`
	ByOperation []Served `json:"by_operation"` // empty unless the trial has a mix
	// ByCall has the calls of an application by kind; absent for other loads.
	ByCall []Calls `json:"by_call,omitempty"`
	// ByMember has the results of each member and the history of its connections.
	ByMember []ByMember `json:"by_member"`
	Roles    Roles      `json:"roles"`
	// ByWorker has the results of each worker; absent if there is only one.
	ByWorker []ByWorker `json:"by_worker,omitempty"`
	// ByHost has the results of each host that the scenario names, if these hosts have their own
	// clocks; absent otherwise.
	ByHost []ByHost `json:"by_host,omitempty"`
	// ClockSet reports how the controller's clock was set; absent if it was not.
	ClockSet *ClockSet `json:"clock_set,omitempty"`
	WorkerTiming
	// ByClient reports how evenly the clients of a closed loop were served; absent in an
	// open loop.
	ByClient *ByClient `json:"by_client,omitempty"`

	// Watch reports what the watchers received; null without watchers.
	Watch *Watched `json:"watch,omitempty"`
	// Retries counts how often completed stm operations restarted because of a conflict; null
	// without stm operations.
	Retries *uint64  `json:"retries,omitempty"`
	Hashes  *Hashes  `json:"hashes,omitempty"`  // null unless requested
	Answers *Answers `json:"answers,omitempty"` // null unless verification was requested
	Cleanup *Cleanup `json:"cleanup,omitempty"` // null unless requested
	// DataDir is a member's data folder in which fdatasync was measured after the load; null
	// without one.
	DataDir *DataDir `json:"data_dir,omitempty"`
	// Replay describes the replay of a recording; null for other loads.
	Replay *Replay `json:"replay,omitempty"`
}

func (t *Trial) setParts(o *Observed, m *measure.Totals, roles Roles) {
	t.ByRole = byRole(m.Cells, roles)
	if len(t.Mix) > 1 {
		t.ByOperation = byOperation(m.Cells)
	}
	t.ByMember = byMember(m, o.Members, o.Answered)
	t.Roles = append(t.Roles, roles...)
	t.ByClient = byClient(m.Connections)
	t.ByWorker = byWorker(m.Parts)
	t.ByHost, t.ClockSet = o.Hosts, o.ClockSet
	t.WorkerTiming = together(t.ByWorker, m)
	if t.Watch = newWatched(t.Load.Watch, m); t.Watch != nil {
		w, each := t.Watch, t.EventsPerWrite()
		w.FromDue, w.FromSent = Times{w.FromDue.Grouped(each)}, Times{w.FromSent.Grouped(each)}
	}
	t.Hashes, t.Answers, t.DataDir = o.Hashes.named(o.Members), o.Answers.WithMemberNames(o.Members), o.DataDir
	t.Replay, t.ByCall = o.Replay, callsOf(m)
	if t.STM != nil {
		t.Retries = new(m.Retries)
	}
}
