package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Parts holds the results by role, operation, member, worker, host and client. It also holds
// results that only some loads have.
type Parts struct {
	ByRole      []Served `json:"by_role"`
	ByOperation []Served `json:"by_operation"` // empty if the load has only one operation
	// ByCall holds the calls of an application by kind. It is absent if the load is not an
	// application.
	ByCall []Calls `json:"by_call,omitempty"`
	// ByMember holds the results of each member and the history of its connections.
	ByMember []ByMember  `json:"by_member"`
	Roles    RoleHistory `json:"roles"`
	// ByWorker holds the results of each worker. It is absent if a single worker generated the load
	// and was not lost.
	ByWorker []ByWorker `json:"by_worker,omitempty"`
	// ByHost holds the results of each host that the scenario names. It is absent unless these
	// hosts have their own clocks.
	ByHost []measure.Host `json:"by_host,omitempty"`
	// ClockChanges reports how the controller's clock was set. It is absent if the clock was not
	// set.
	ClockChanges *verdict.ClockChanges `json:"clock_set,omitempty"`
	WorkerTiming
	// ByClient reports how evenly the clients of a closed loop were served. It is absent in an open
	// loop.
	ByClient *ByClient `json:"by_client,omitempty"`

	// Watch reports what the watchers received. It is absent if the load has no watchers.
	Watch *Watched `json:"watch,omitempty"`
	// Retries is the number of times that completed stm operations restarted because of a conflict.
	// It is absent if the load has no stm operations.
	Retries      *uint64       `json:"retries,omitempty"`
	Hashes       *Hashes       `json:"hashes,omitempty"`       // null unless requested
	Verification *Verification `json:"verification,omitempty"` // null unless verification was requested
	Cleanup      *Cleanup      `json:"cleanup,omitempty"`      // null unless requested
	// DataDir is a member's data folder in which fdatasync was measured after the load. It is
	// absent if fdatasync was not measured.
	DataDir *DataDir `json:"data_dir,omitempty"`
	// Replay describes the replay of a recording. It is absent for other loads.
	Replay *Replay `json:"replay,omitempty"`
}

func (t *Trial) setParts(o *Observed, m *measure.Totals, roles RoleHistory) {
	t.ByRole = byRole(m.Cells, roles)
	if len(t.Mix) > 1 {
		t.ByOperation = byOperation(m.Cells)
	}
	t.ByMember = byMember(m, o.Members, o.DoneCounts)
	t.Roles = append(t.Roles, roles...)
	t.ByClient = byClient(m.Connections)
	t.ByWorker = byWorker(m.Workers())
	t.ByHost, t.ClockChanges = o.Hosts, o.ClockChanges
	t.WorkerTiming = newWorkerTiming(t.ByWorker, m)
	if t.Watch = newWatched(t.Load.Watch, m); t.Watch != nil {
		w, each := t.Watch, t.EventsPerWrite()
		w.FromDue, w.FromSent = Times{w.FromDue.DropUnsupported(each)}, Times{w.FromSent.DropUnsupported(each)}
	}
	t.Hashes, t.Verification, t.DataDir = o.Hashes.withMemberNames(o.Members), o.Verification.WithMemberNames(o.Members), o.DataDir
	t.Replay, t.ByCall = o.Replay, callsOf(m)
	if t.STM != nil {
		t.Retries = new(m.Retries)
	}
}
