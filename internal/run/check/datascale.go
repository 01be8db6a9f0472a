package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Datascale is a check of what so many keys cost the members.
type Datascale struct {
	Cluster     Cluster
	Scale       Scale
	Prefix      string
	Connections int // 0: one for each client
	Timeout     time.Duration
	Threads     int // event loops; 0 chooses
	Seed        uint64
	Compact     bool // after the check
	Defragment  bool
	// Began is told when the load begins, and Watch how it goes, from one
	// goroutine at a time.
	Began func()
	Watch func(Progress)
}

// ScaleOutcome is what a datascale check came to.
type ScaleOutcome struct {
	Seconds     float64
	Throughput  float64         // writes done a second
	Service     measure.Summary // of all writes, failed ones slowest
	Written     uint64          // keys
	Members     []MemberCost    // the member at the first endpoint given first
	ByError     []Failure
	Cleanup     Cleanup
	Interrupted bool
	Version     string
}

// MemberCost is what a member took before and after, in bytes.
type MemberCost struct {
	Name, Endpoint string
	Memory, Disk   Change
	Unread         string // why its memory is not known
}

// Change is a figure before and after; Known says that both are.
type Change struct {
	Before, After int64
	Known         bool
}

// Grown is by how much it rose.
func (c Change) Grown() int64 { return c.After - c.Before }

// UnreadError says that no member tells its memory: the words of the original.
type UnreadError struct {
	When string // before or after
	Why  string
}

// Error is the original's line, and why.
func (e *UnreadError) Error() string { return e.Line() + " " + e.Why }

// Line is the original's.
func (e *UnreadError) Line() string {
	return "FAIL: Could not read process_resident_memory_bytes " + e.When + " the put operations."
}

// Run carries out the check. Its error is for what kept it from being made: a
// NotEmptyError, an UnreadError, or a sentence. What it wrote is removed
// whatever happens.
func (d *Datascale) Run(ctx context.Context) (*ScaleOutcome, error) {
	l := d.scaleLoad()
	r, err := enter(ctx, d.Cluster, l, d.Prefix, d.Compact, d.Defragment)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.admin.Close() }() // nothing is left to ask
	out := &ScaleOutcome{Version: r.status.Version}
	scales := newWeighers(r)
	out.Members = scales.weigh(ctx, r, nil)
	if out.Members[0].Memory.Before == 0 {
		return nil, &UnreadError{When: "before", Why: out.Members[0].Unread}
	}
	if d.Began != nil {
		d.Began()
	}
	plan := r.plan(l)
	res, err := d.drive(ctx, r, plan)
	cleanup := cleaner{r: r, plan: plan, prefix: d.Prefix, compact: d.Compact, defragment: d.Defragment, due: 1}
	if res != nil {
		cleanup.due = res.Measured.Due
		out.fill(res)
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*askTimeout)
		out.Members = scales.weigh(after, r, out.Members)
		cancel()
	}
	scales.close()
	d.tell(Progress{Stage: CleaningUp})
	out.Cleanup = cleanup.run()
	switch {
	case errors.Is(err, load.ErrNeverOpened):
		out.Interrupted = true
		return out, nil
	case err != nil:
		return nil, errors.Join(err, out.Cleanup.Err)
	case !out.Interrupted && !out.Members[0].Memory.Known:
		return nil, errors.Join(&UnreadError{When: "after", Why: out.Members[0].Unread}, out.Cleanup.Err)
	}
	return out, nil
}

func (d *Datascale) tell(p Progress) {
	if d.Watch != nil {
		d.Watch(p)
	}
}

func (d *Datascale) drive(ctx context.Context, r *reached, plan *load.Assignment) (*load.Result, error) {
	g, err := r.worker().Prepare(ctx, plan, load.Reports{})
	if err != nil {
		return nil, err
	}
	stop := watchProgress(g, d.tell)
	defer stop()
	return load.RunJob(ctx, g)
}

func (o *ScaleOutcome) fill(res *load.Result) {
	t := res.Measured
	o.Interrupted, o.Seconds, o.Written, o.ByError = res.Interrupted, t.Seconds, t.Succeeded(), failures(t)
	if t.Seconds > 0 {
		o.Throughput = float64(t.Done) / t.Seconds
	}
	o.Service = measure.Summarize(t.Whole().Service, t.Failed())
}

// weighers read the members' memory, that at the first endpoint given first.
type weighers []*probe.Scraper

func newWeighers(r *reached) weighers {
	first := r.Access.Endpoints[0]
	for i, e := range r.asked {
		if e == first {
			r.asked = append([]string{e}, append(append([]string(nil), r.asked[:i]...), r.asked[i+1:]...)...)
			break
		}
	}
	out := make(weighers, len(r.asked))
	for i, e := range r.asked {
		out[i], _ = probe.NewScraper(r.Store, r.Access, e)
	}
	return out
}

func (w weighers) close() {
	for _, s := range w {
		if s != nil {
			s.Close()
		}
	}
}

// weigh reads what each member takes now: before the load, or, given what was
// before, after it.
func (w weighers) weigh(ctx context.Context, r *reached, before []MemberCost) []MemberCost {
	out := make([]MemberCost, len(w))
	status, _ := r.admin.Status(ctx) // who does not answer has no size
	for i, s := range w {
		m := &out[i]
		m.Endpoint, m.Name = r.asked[i], r.name(r.asked[i])
		if before != nil {
			m.Memory.Before, m.Disk.Before = before[i].Memory.Before, before[i].Disk.Before
		}
		memory, err := memoryOf(ctx, r, s, m.Endpoint)
		disk := int64(0)
		for _, is := range status.Members {
			if is.Endpoint == m.Endpoint {
				disk = is.DBSize
			}
		}
		if err != nil {
			m.Unread = err.Error()
		}
		if before == nil {
			m.Memory.Before, m.Disk.Before = memory, disk
			continue
		}
		m.Memory.After, m.Disk.After = memory, disk
		m.Memory.Known = memory > 0 && m.Memory.Before > 0
		m.Disk.Known = disk > 0 && m.Disk.Before > 0
	}
	return out
}

func memoryOf(ctx context.Context, r *reached, s *probe.Scraper, endpoint string) (int64, error) {
	if s == nil {
		return 0, fmt.Errorf("%s at %s tells no metrics", r.Store.Name(), endpoint)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	sample, err := s.Read(ctx)
	if err != nil {
		return 0, err
	}
	memory := int64(sample[store.ResidentBytes].Value)
	if memory <= 0 {
		return 0, fmt.Errorf("%s does not tell its memory", endpoint)
	}
	return memory, nil
}
