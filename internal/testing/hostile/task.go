package hostile

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// These are the client's limits.
const (
	// Timeout limits one operation, one request to an endpoint, and the time to connect.
	Timeout = 300 * time.Millisecond
	// callTimeout limits one administrative call, which may send several requests.
	callTimeout = 2 * Timeout

	clients  = 4
	keySpace = 100
)

// Task describes the work of one client.
type Task struct {
	Store           string
	Part            string // load or admin
	Ops             string // operations of a load
	Honest, Hostile string // HOST:PORT of the servers
	Prefix          string // prefix of keys, unique for the task
	Window          time.Duration
}

// Report contains the results of a task.
type Report struct {
	Verdict string            `json:"verdict"` // the load's verdict; empty if the load did not run
	Reasons []string          `json:"reasons"`
	Due     uint64            `json:"due"`
	Errors  map[string]uint64 `json:"errors"`
	Wrong   uint64            `json:"wrong"`
	Texts   []string          `json:"texts"` // error texts
	Late    []string          `json:"late"`  // calls that ended long after their timeout
	MaxRSS  int64             `json:"max_rss"`
}

// maxOvertime is the time by which a call may exceed its timeout before it counts as late.
const maxOvertime = 5 * time.Second

// Run runs the task.
func (t *Task) Run(ctx context.Context, st store.Store) (Report, error) {
	r := Report{}
	var err error
	if t.Part == "admin" {
		err = t.admin(ctx, st, &r)
	} else {
		err = t.load(ctx, st, &r)
	}
	r.MaxRSS, _ = MaxRSSOf(os.Getpid()) // 0 if unknown
	return r, err
}

// loads returns the sets of operations from which a kind selects one, by name.
func loads(strongest kv.Consistency) map[string][]scenario.Operation {
	return map[string][]scenario.Operation{
		"put":    {{Kind: kv.Put, Weight: 1}},
		"get":    {{Kind: kv.Get, Consistency: strongest, Weight: 1}},
		"list":   {{Kind: kv.Range, Consistency: strongest, Weight: 1}},
		"delete": {{Kind: kv.Delete, Weight: 1}},
		"cas":    {{Kind: kv.CAS, Weight: 1}},
		"txn":    {{Kind: kv.Txn, Weight: 1}},
		"": {
			{Kind: kv.Put, Weight: 4}, {Kind: kv.Get, Consistency: strongest, Weight: 3}, {Kind: kv.Get, Consistency: kv.Local, Weight: 2},
			{Kind: kv.Range, Consistency: strongest, Weight: 1}, {Kind: kv.CAS, Weight: 1}, {Kind: kv.Txn, Weight: 1},
		},
	}
}

// assignment returns the task's load for an endpoint, limited to the operations that the store
// supports.
func (t *Task) assignment(st store.Store, endpoint string) *load.Assignment {
	can := st.Capabilities()
	l := scenario.Load{
		Connections: clients, Clients: clients, Threads: 1,
		KeySize: 8, ValueSize: 64, KeySpace: keySpace, Prefix: t.Prefix,
		Distribution: scenario.Distribution{Name: "uniform"}, Ranges: scenario.Ranges{RangeLimit: 10}, TxnKeys: 2,
		Duration: t.Window, Timeout: Timeout, MaxInFlight: 1000, Preload: true, Seed: 1,
	}
	for _, op := range loads(can.Strongest())[t.Ops] {
		if _, ok := can.Operations[op.Kind]; ok {
			l.Mix = append(l.Mix, op)
		}
	}
	return &load.Assignment{
		Load: l, Store: st.Name(), Endpoints: []string{endpoint},
		Access: scenario.RunningCluster{Endpoints: []string{endpoint}, DialTimeout: Timeout},
	}
}

// load preloads the honest server, and then runs the load on the hostile server.
func (t *Task) load(ctx context.Context, st store.Store, r *Report) error {
	worker := &load.Local{Stores: func(string) (store.Store, error) { return st, nil }}
	honest := t.assignment(st, t.Honest)
	honest.Load.Timeout, honest.Access.DialTimeout = time.Minute, time.Minute
	preloaded, err := worker.Preload(ctx, honest)
	if err != nil {
		return err
	}
	preloaded.Versions = nil // the versions in the preload belong to the honest server
	a := t.assignment(st, t.Hostile)
	a.Preloaded = preloaded
	if len(a.Load.Mix) == 0 {
		return nil // the store does not support the operations
	}
	r.checkTimeLimit("the check", callTimeout*time.Duration(len(a.Load.Mix)), func() error { _, err := worker.Check(ctx, a); return err })
	var res *load.Result
	r.checkTimeLimit("the load", t.Window+3*Timeout, func() error {
		res, err = load.Run(ctx, worker, a, load.Reports{})
		return err
	})
	if res == nil || res.Measured == nil {
		return nil
	}
	c := record.NewConditions(&scenario.Trial{Load: a.Load})
	c.Loops = res.Loops
	trial := record.NewTrial(c, record.Observed{Opened: res.Opened, State: record.Complete}, res.Measured, res.Warmup, nil)
	r.Verdict, r.Due, r.Errors, r.Wrong = string(trial.Verdict.State), trial.Due, trial.ErrorsByKind, trial.WrongResponses
	for _, reason := range trial.Verdict.Reasons {
		r.Reasons = append(r.Reasons, reason.String())
	}
	for _, text := range trial.ErrorTexts {
		r.addText(text)
	}
	return nil
}

// addText records a message about the server.
func (r *Report) addText(text string) {
	if text != "" {
		r.Texts = append(r.Texts, text)
	}
}

// checkTimeLimit calls the function `do`, and adds the call to r.Late if it takes much longer than
// the timeout. The function `do` must apply the timeout itself.
func (r *Report) checkTimeLimit(what string, timeout time.Duration, do func() error) {
	began := time.Now()
	err := do()
	if took := time.Since(began); took > timeout+maxOvertime {
		r.Late = append(r.Late, fmt.Sprintf("%s took %v, with a timeout of %v", what, took.Round(time.Millisecond), timeout))
	}
	if err != nil {
		r.addText(what + ": " + err.Error())
	}
}

// admin calls every method of the store's Admin.
func (t *Task) admin(ctx context.Context, st store.Store, r *Report) error {
	a, err := st.Admin(store.Access{Endpoints: []string{t.Hostile}, DialTimeout: Timeout})
	if err != nil {
		return err
	}
	ask := func(what string, do func(context.Context) error) {
		r.checkTimeLimit(what, callTimeout, func() error {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			return do(ctx)
		})
	}
	ask("status", func(ctx context.Context) error {
		s, err := a.Status(ctx)
		r.addText(s.Version)
		return err
	})
	ask("members", func(ctx context.Context) error {
		_, err := a.Members(ctx)
		return err
	})
	for range 3 {
		ask("role", func(ctx context.Context) error { return a.Role(ctx, 0).Err })
	}
	if leases, ok := a.(store.Leaser); ok {
		var ids []int64
		ask("grant", func(ctx context.Context) (err error) { ids, err = leases.Grant(ctx, 3, time.Minute); return err })
		ask("revoke", func(ctx context.Context) error { return leases.Revoke(ctx, ids) })
	}
	if hashes, ok := a.(store.Operator); ok {
		ask("hash", func(ctx context.Context) error { _, err := hashes.Hash(ctx); return err })
	}
	if m, ok := a.(store.Operator); ok {
		ask("compact behind", func(ctx context.Context) error { _, err := m.TrimHistory(ctx, 10); return err })
		ask("compact", func(ctx context.Context) error { _, err := m.Compact(ctx); return err })
		ask("defragment", m.Defragment)
	}
	if m, ok := a.(store.Operator); ok {
		ask("move leader", func(ctx context.Context) error { return m.MoveLeader(ctx, 1) })
	}
	if d, ok := a.(store.Cleaner); ok {
		ask("delete prefix", func(ctx context.Context) error { _, err := d.DeletePrefix(ctx, []byte(t.Prefix)); return err })
	}
	r.checkTimeLimit("close", Timeout, func() error { return a.Close() })
	return nil
}

// MaxRSSOf returns a process's peak resident memory in bytes. It does not use ru_maxrss, which
// would include the parent's memory.
func MaxRSSOf(pid int) (int64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := p.NewStatus()
	return int64(status.VmHWM), err
}
