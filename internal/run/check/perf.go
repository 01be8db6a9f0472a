package check

import (
	"context"
	"errors"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Perf is a check of whether a cluster takes a load in time.
type Perf struct {
	Cluster     Cluster
	Model       Model
	Prefix      string
	Connections int // 0: one for each client
	Timeout     time.Duration
	Threads     int // event loops; 0 chooses
	Seed        uint64
	Compact     bool // after the check
	Defragment  bool
	DataDir     string // a member's data folder on this machine; empty: not known
	// Watch is told how it goes, from one goroutine at a time.
	Watch func(Progress)

	patience time.Duration // of the clean-up; 0: the default
}

// Progress is how a check goes.
type Progress struct {
	Stage   string // connecting, measuring, draining or cleaning up
	Elapsed time.Duration
	Done    uint64 // writes
	Failed  uint64
}

// The stages.
const (
	Connecting = "connecting"
	Measuring  = "measuring"
	Draining   = "draining"
	CleaningUp = "cleaning up"
)

// Outcome is what a perf check came to.
type Outcome struct {
	Figures     Figures
	Response    measure.Summary // of all writes due, failed ones slowest
	Service     measure.Summary // of the successes, from sent to done
	ByError     []Failure
	Verdict     Verdict
	Causes      []Cause  // of a failure
	Looked      []string // what was looked at for causes
	Cleanup     Cleanup
	Interrupted bool
	Connections int
	Version     string // of the store
	Members     int
	Notes       []string
}

// Failure is one kind of error.
type Failure struct {
	Kind  string // as errors_by_kind spells it
	Text  string // the first one's, as the store said it; may be empty
	Count uint64
}

// Run carries out the check. Its error is for what kept it from being made: a
// NotEmptyError, or a sentence. What the check wrote is removed also when ctx
// ends, and whatever else happens.
func (p *Perf) Run(ctx context.Context) (*Outcome, error) {
	l := p.perfLoad()
	r, err := enter(ctx, p.Cluster, l, p.Prefix, p.Compact, p.Defragment)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.admin.Close() }() // nothing is left to ask
	w := newWatcher(r)
	w.before(ctx)
	plan := r.plan(l)
	res, err := p.drive(ctx, r, w, plan)
	cleanup := cleaner{r: r, plan: plan, prefix: p.Prefix, compact: p.Compact, defragment: p.Defragment, due: 1, patience: p.patience}
	if res != nil {
		cleanup.due = res.Measured.Due
	}
	out := &Outcome{Connections: l.Connections, Version: r.status.Version, Members: len(r.status.Members)}
	if res != nil {
		p.fill(out, r, w, res)
	}
	p.tell(Progress{Stage: CleaningUp})
	out.Cleanup = cleanup.run()
	switch {
	case errors.Is(err, load.ErrNeverOpened):
		out.Interrupted = true
		return out, nil
	case err != nil:
		return nil, errors.Join(err, out.Cleanup.Err)
	}
	p.judge(ctx, out)
	return out, nil
}

// drive runs the load with the members being watched.
func (p *Perf) drive(ctx context.Context, r *reached, w *watcher, plan *load.Assignment) (*load.Result, error) {
	f := newFollower(r)
	g, err := r.worker().Prepare(ctx, plan, load.Reports{Changed: f.changed})
	if err != nil {
		return nil, err
	}
	w.begin()
	stop := watchProgress(g, p.tell)
	f.begin(g)
	res, err := load.RunJob(ctx, g)
	f.end()
	stop()
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*askTimeout)
	defer cancel()
	w.end(ended)
	return res, err
}

func (p *Perf) tell(pr Progress) {
	if p.Watch != nil {
		p.Watch(pr)
	}
}

// watchProgress tells how a load goes until the returned function is called.
func watchProgress(g load.Job, tell func(Progress)) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		load.Background()
		ticker := time.NewTicker(250 * time.Millisecond)
		defer ticker.Stop()
		var opened time.Time
		for {
			now := g.Progress()
			pr := Progress{Stage: Connecting, Done: now.Done, Failed: now.Failed}
			switch {
			case now.Phase == measure.Measured.String():
				if opened.IsZero() {
					opened = time.Now()
				}
				pr.Stage = Measuring
			case !opened.IsZero():
				pr.Stage = Draining
			}
			if !opened.IsZero() {
				pr.Elapsed = time.Since(opened)
			}
			tell(pr)
			select {
			case <-quit:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// fill puts the load's and the members' figures together.
func (p *Perf) fill(out *Outcome, r *reached, w *watcher, res *load.Result) {
	t := res.Measured
	out.Interrupted = res.Interrupted
	out.Figures = loadFigures(t)
	f := &out.Figures
	f.Rate, f.Clients = p.Model.Rate, p.Model.Clients
	for _, m := range w.members {
		f.Members = append(f.Members, m.done())
	}
	f.Tester = testerFigures(res, w.members)
	whole := t.Whole()
	out.Response = measure.Summarize(whole.Response, t.Failed())
	out.Service = measure.Summarize(whole.Service, 0)
	out.ByError = failures(t)
	p.ask(r, f)
}

// loadFigures is what a load says of itself.
func loadFigures(t *measure.Totals) Figures {
	all := measure.NewHistogram()
	for _, c := range t.Cells {
		for _, h := range append(c.Failed[:], c.Response) {
			if h != nil {
				all.Merge(h)
			}
		}
	}
	f := Figures{
		Seconds: t.Seconds, Due: t.Due, NotSent: t.Outcomes[kv.NotSent], Errors: t.Failed() - t.Outcomes[kv.NotSent],
		LongestGap: t.LongestGap,
	}
	if t.Seconds > 0 {
		f.Throughput = float64(t.Done) / t.Seconds
	}
	if all.TotalCount() > 0 {
		f.Slowest, f.Stddev = float64(all.Max())/1e9, all.StdDev()/1e9
	}
	return f
}

// failures lists the errors by kind, but for what was not sent: that is the
// store's pace, and not its answer.
func failures(t *measure.Totals) []Failure {
	var out []Failure
	for o := kv.NotSent + 1; o < kv.NumOutcomes; o++ {
		if n := t.Outcomes[o]; n > 0 {
			out = append(out, Failure{Kind: o.String(), Text: t.ErrorTexts[o], Count: n})
		}
	}
	return out
}

// ask asks the members for their state after the load.
func (p *Perf) ask(r *reached, f *Figures) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	now, _ := r.admin.Status(ctx) // who does not answer is within
	if now.Term > r.status.Term && r.status.Term > 0 {
		f.Elections = now.Term - r.status.Term
	}
	for i := range f.Members {
		m := &f.Members[i]
		m.Asked++
		for _, s := range now.Members {
			if s.Endpoint == r.asked[i] {
				m.Alarms = s.Alarms
				if s.Err != nil {
					m.Unanswered++
				}
			}
		}
	}
}

// judge judges the figures, and looks for causes where they fail.
func (p *Perf) judge(ctx context.Context, out *Outcome) {
	out.Verdict = Judge(out.Figures, out.ByError)
	if out.Verdict.Pass || out.Interrupted {
		return
	}
	if p.DataDir != "" && ctx.Err() == nil {
		out.Figures.Probe = p.probe(ctx, out)
	}
	out.Causes, out.Looked = Diagnose(out.Figures)
}

func (p *Perf) probe(ctx context.Context, out *Outcome) *ProbeFigures {
	f, err := probe.Fsync(ctx, p.DataDir, probe.FsyncWrites)
	if err != nil {
		out.Notes = append(out.Notes, err.Error())
		return nil
	}
	return &ProbeFigures{
		Dir: p.DataDir, FileSystem: f.FileSystem, Durable: f.Durable, Count: f.Count,
		P50: f.P50.NS / 1e9, P99: f.P99.NS / 1e9,
	}
}
