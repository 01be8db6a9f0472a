package record

import "github.com/quorumbench/quorumbench/internal/measure"

// Parts are the results by what they are of (roles, operations, members, workers, hosts,
// clients), and those that only some loads have.
type Parts struct {
	ByRole      []Served `json:"by_role"`
	ByOperation []Served `json:"by_operation"` // empty unless the trial has a mix
	// ByCall has the calls of an application, by their kinds; absent for any other load.
	ByCall []Calls `json:"by_call,omitempty"`
	// ByMember is each member's part of the load and what happened to its
	// connections.
	ByMember []ByMember `json:"by_member"`
	Roles    Roles      `json:"roles"`
	// ByWorker is what each of several workers did; absent where there was one.
	ByWorker []ByWorker `json:"by_worker,omitempty"`
	// ByHost is what each host was of a trial that uses hosts of the scenario with clocks
	// of their own; absent in any other.
	ByHost []ByHost `json:"by_host,omitempty"`
	// ClockSet is how the clock of the machine was set that conducted the run; absent
	// where it was not.
	ClockSet *ClockSet `json:"clock_set,omitempty"`
	Together
	// ByClient is how evenly the clients of a closed loop were served; absent in an
	// open loop.
	ByClient *ByClient `json:"by_client,omitempty"`

	// Watch is what the watchers got; null without any.
	Watch *Watched `json:"watch,omitempty"`
	// Retries is how often a conflict made stm operations, of those that
	// completed, begin again; null without any.
	Retries *uint64  `json:"retries,omitempty"`
	Hashes  *Hashes  `json:"hashes,omitempty"`  // null unless they were asked for
	Answers *Answers `json:"answers,omitempty"` // null unless they were to be checked
	Cleanup *Cleanup `json:"cleanup,omitempty"` // likewise
	// DataDir is a member's data folder that was looked at after the load; null
	// without one.
	DataDir *DataDir `json:"data_dir,omitempty"`
	// Replay is of a load that was a recording sent again; null for any other.
	Replay *Replay `json:"replay,omitempty"`
}

// setParts sets the results by what they are of.
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
	t.Together = together(t.ByWorker, m)
	if t.Watch = newWatched(t.Load.Watch, m); t.Watch != nil {
		w, each := t.Watch, t.EventsPerWrite()
		w.FromDue, w.FromSent = Times{w.FromDue.Grouped(each)}, Times{w.FromSent.Grouped(each)}
	}
	t.Hashes, t.Answers, t.DataDir = o.Hashes.named(o.Members), o.Answers.Named(o.Members), o.DataDir
	t.Replay, t.ByCall = o.Replay, callsOf(m)
	if t.STM != nil {
		t.Retries = new(m.Retries)
	}
}
