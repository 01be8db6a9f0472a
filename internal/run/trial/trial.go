// Package trial conducts one trial: preload, warm up, measure, drain, record.
//
// It does not know whether the cluster was started by us or ran already, nor
// on which machine.
package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Trial is one trial to be conducted.
type Trial struct {
	Spec    scenario.Trial // its rate is known by now
	Cluster Cluster
	Worker  load.Worker
	Writer  *record.Writer
	Host    host.Host       // on which the generator runs, which is this process
	Machine *record.Machine // the generator's
	Sources []Source        // the scenario's hosts that it uses, where some have clocks of their own
	Tool    string          // version
	// Server is what members of a rolling upgrade to a server are started from.
	Server func(to string) (cluster.Server, error)
	// Progress gets how the trial goes, from one goroutine at a time.
	Progress func(Progress)
	// Second gets every second that is recorded, which it only reads, from
	// one goroutine. Nil for nobody.
	Second func(*measure.Second)
	// Replayed is asked after the load what came of a recording that it replays; nil
	// where it replays none.
	Replayed func() *record.Replay
	// CheckAnswers checks the answers where the load asks for it.
	CheckAnswers CheckAnswers
	// NoSpace is set by Run where a load on a running cluster was stopped because the store
	// had no space left.
	NoSpace error
	// Unrecorded is set by Run to what was measured where the record of it could not be
	// written.
	Unrecorded *record.Trial

	logs  logs // followed while it runs
	loops int  // event loops of the worker
	// userNotes say that the cluster does not check the user that was given.
	userNotes []string
}

// Cluster is what is under test.
type Cluster struct {
	ID    string // in the record
	Store store.Store
	cluster.Running
	Durability *record.Durability
	// Guard protects what is in a cluster that ran before; nil for one that we started.
	Guard *guard.Guard
	// Shared says whether members run on the generator's machine; nil if that
	// is not known.
	Shared *bool
	// Beside are the processes of members of a cluster that ran before, which were found
	// on the generator's machine. Unfound says why those of some are not known.
	Beside  []int
	Unfound string
}

// attached reports whether the cluster ran before: it may have more members than
// its Access names, and its own word for where they are is asked when the target
// needs it.
func (c *Cluster) attached() bool { return len(c.Members()) == 0 }

// names are the members' names by endpoint, where we gave them: logs and
// processes have them, whatever the store calls its members.
func (c *Cluster) names() map[string]string {
	out := map[string]string{}
	for _, m := range c.Members() {
		out[m.Endpoint] = m.Name
	}
	return out
}

// Progress is how a trial goes.
type Progress struct {
	Stage     string // preloading, connecting, warmup, measured, draining, cleaning up
	PerSecond float64
	P99       float64 // nanoseconds; 0: not supported
	Errors    uint64
	InFlight  int64
	Ended     uint64 // operations ended since the window was seen open
	Done      uint64 // of those, succeeded
	// InWindow is how long ago that was; it stops when the window closes.
	InWindow time.Duration
}

// statusTimeout bounds asking a cluster how it is.
const statusTimeout = 3 * time.Second

// Run conducts the trial. Without an error the result is recorded and
// returned. When ctx ends, what was measured until then is; if nothing was,
// the error says so.
func (t *Trial) Run(ctx context.Context) (*record.Trial, error) {
	members, err := t.reach(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { members.close() }()
	if t.logs, err = t.followLogs(ctx); err != nil {
		return nil, err
	}
	defer t.logs.close()
	a, err := t.assignment(members)
	if err != nil {
		return nil, err
	}
	if err := t.checkRoom(members); err != nil {
		return nil, err
	}
	if err := t.checkRights(ctx, members); err != nil {
		return nil, err
	}
	if err := t.claim(ctx); err != nil {
		return nil, err
	}
	clean, err := t.newCleaner(ctx, members)
	if err != nil {
		return nil, err
	}
	defer clean.close()
	if err := t.tryOperations(ctx, a, members); err != nil {
		return nil, err
	}
	t.findBeside(ctx, members)
	t.userNotes = userNotes(ctx, members, &a.Access)
	if members, err = t.preload(ctx, a, members, clean); err != nil {
		return nil, clean.failed(a, &NotPreparedError{Why: err})
	}
	if err := t.compactFirst(ctx, members); err != nil {
		return nil, clean.failed(a, err)
	}
	release, err := t.grant(ctx, a, members)
	if err != nil {
		return nil, clean.failed(a, err)
	}
	defer release()
	if err := t.writeEarlier(ctx, a); err != nil {
		return nil, clean.failed(a, err)
	}
	out, err := t.Writer.Trial(t.conditions(members, a), measure.Now())
	if err != nil {
		return nil, clean.failed(a, err)
	}
	result, members, err := t.measureAnswering(ctx, a, members, out, clean)
	cleanup := clean.run(a)
	if err != nil {
		if cleanup != nil {
			err = errors.Join(err, keysLeft(cleanup), out.CleanedUp(cleanup))
		}
		state := record.Failed
		if errors.Is(err, load.ErrNeverOpened) || ctx.Err() != nil {
			state = record.Interrupted
		}
		if closing := out.Abort(state, err.Error()); !errors.Is(err, closing) {
			err = errors.Join(err, closing)
		}
		return nil, err
	}
	if note := release(); note != "" {
		result.Notes = append(result.Notes, note)
	}
	if result.Cleanup = cleanup; cleanup.Err() != nil {
		result.Notes = append(result.Notes, cleanup.Err().Error())
	}
	if err := out.Finish(*result); err != nil {
		t.Unrecorded = result
		return nil, err
	}
	return result, nil
}

// NotPreparedError says why what a load needs could not be put into the store before it:
// the trial did not begin.
type NotPreparedError struct{ Why error }

func (e *NotPreparedError) Error() string { return e.Why.Error() }

// Unwrap returns the reason.
func (e *NotPreparedError) Unwrap() error { return e.Why }

func (t *Trial) report(p Progress) {
	if t.Progress != nil {
		t.Progress(p)
	}
}

// assignment puts the load and its target together.
func (t *Trial) assignment(m *members) (*load.Assignment, error) {
	endpoints, voters, err := t.aims(m)
	if err != nil {
		return nil, err
	}
	a := t.assigned(endpoints)
	a.Voters, a.Members = voters, m.numbers()
	return a, nil
}

// assigned is the load at the given endpoints. Certificates and passwords stay
// where the scenario says they are; of a cluster that we started there is that of its
// authority, if its members speak TLS.
func (t *Trial) assigned(endpoints []string) *load.Assignment {
	a := &load.Assignment{Load: t.Spec.Load, Store: t.Spec.Cluster.Store, Endpoints: endpoints, Confined: t.Cluster.Guard != nil}
	if t.Spec.Cluster.Attach != nil {
		a.Access = *t.Spec.Cluster.Attach
	}
	access := t.Cluster.Access()
	if len(access.Authority) > 0 {
		a.Access.TLS, a.Access.Authority = true, string(access.Authority)
	}
	a.Access.Endpoints, a.Access.DialTimeout = access.Endpoints, access.DialTimeout
	return a
}

// conditions is what the trial's figures hold for.
func (t *Trial) conditions(m *members, a *load.Assignment) record.Conditions {
	c := record.FromScenario(&t.Spec)
	status := m.status()
	c.Version, c.Members = status.Version, max(len(status.Members), m.total)
	c.Endpoints, c.Cluster = a.Endpoints, t.Cluster.ID
	c.Loops = t.loops
	c.ShortOf = shortOf(t.Cluster.Store.Capabilities(), c.Mix)
	var absent []string
	c.Absent, absent = m.absentMembers()
	c.Durability, c.Machine, c.Shared = t.Cluster.Durability, t.Machine, t.Cluster.Shared
	c.Tool, c.Notes = t.Tool, slices.Concat(c.Notes, t.Cluster.Notes(), t.Cluster.unfound(), t.userNotes, absent, m.hiddenNotes(), t.voteNotes(m, a.Endpoints))
	if rate := t.Spec.Load.Rate.PerSecond; c.Open() && c.Rate == nil {
		c.Rate = &rate
	}
	return c
}

// measure runs the load and puts its result together. The error is an unopenedError where
// nothing was sent.
func (t *Trial) measure(ctx context.Context, a *load.Assignment, m *members, out *record.TrialWriter, clean *cleaner) (*record.Trial, error) {
	c := t.conditions(m, a)
	w, err := newMonitor(ctx, t, m, out)
	if err != nil {
		return nil, err
	}
	w.clean = clean
	defer w.scrapes.close()
	if err := t.weigh(w.scrapes); err != nil {
		return nil, err
	}
	run := ctx
	ctx, w.stop = context.WithCancel(ctx)
	defer w.stop()
	t.report(Progress{Stage: "connecting"})
	started := measure.Now()
	told := t.newHistorian(ctx, m, out.Dir())
	defer func() { _ = told.close(false) }() // answers did, unless something else is wrong
	job, err := t.Worker.Prepare(ctx, a, load.Reports{Second: w.second, History: told.reports(), Changed: w.changed, Mark: w.mark})
	if err != nil {
		return nil, err
	}
	if err := told.failed(); err != nil {
		job.Close()
		return nil, err
	}
	w.begin(run, job, a.Endpoints)
	clean.begin()
	res, err := load.RunJob(ctx, job)
	if res != nil {
		t.Cluster.Guard.Granted(res.Leases)
	}
	lost := w.end()
	switch {
	case w.err != nil && (err != nil || res == nil):
		return nil, w.err // the record could not be written
	case errors.Is(err, load.ErrNeverOpened) && lost != nil:
		return nil, lost
	case err != nil && w.begun == [2]bool{}: // no second came, and none will
		told.remove()
		return nil, &unopenedError{err}
	case err != nil:
		return nil, err
	}
	w.handleChanges(t.askAgain(m))
	w.scrapes.all(statusTimeout)
	w.readLastLogs(context.WithoutCancel(ctx))
	if err := w.made(res.Measured); err != nil && w.err == nil {
		return nil, err
	}
	observed := w.observed(res)
	observed.ClockSet = w.clockSet()
	observed.Hashes = t.hashes(ctx, m)
	if observed.Answers, err = told.answers(run, m, a, res); err != nil && w.err == nil {
		return nil, err
	}
	if t.Replayed != nil {
		observed.Replay = t.Replayed()
	}
	folder, note := t.dataDir(ctx)
	observed.DataDir = folder
	observed.Started, observed.Opened, observed.State = started, res.Opened, record.Complete
	if res.Interrupted {
		observed.State = record.Interrupted
	}
	status := m.status()
	observed.Members, observed.Answered = memberList(&status, res.MemberOf), out.Answered()
	observed.WarmupSeconds, observed.Steady = res.WarmupSeconds, res.Steady
	w.attribute(&observed, res)
	c.Notes = slices.Concat(c.Notes, w.notes(), note, answered(res.Measured), record.Broke(w.faults), observed.Replay.Notes())
	if t.NoSpace = w.outOfSpace(); t.NoSpace != nil {
		c.Notes = append(c.Notes, "The load did not run to its end: "+t.NoSpace.Error()+".")
	}
	result := record.NewTrial(c, observed, res.Measured, res.Warmup, m.roles())
	if w.err != nil {
		t.Unrecorded = &result
		return nil, w.err
	}
	return &result, nil
}

// observed is what the generator, the members and the machine used in the
// window.
func (w *monitor) observed(res *load.Result) record.Observed {
	closed, ok := w.phases.ended()
	if !ok {
		return observed(res.Used, nil, nil, "")
	}
	store, started := w.sampler.store.between(res.Opened, closed)
	var here *float64
	if store != nil {
		here = &started
	} else if all, found := w.sampler.beside.between(res.Opened, closed); all != nil {
		here = &found
	}
	machine, _ := os.Hostname()
	o := observed(res.Used, store, here, machine)
	if o.Hosts = w.sampler.byHost(res.Opened, closed); len(o.Hosts) > 0 {
		o.ForeignShare = nil // of each host, and of this machine where it is one
		for i := range o.Hosts {
			if h := &o.Hosts[i]; h.Machine == record.MachineName {
				o.ForeignShare = h.ForeignShare
			}
		}
	}
	o.RanForLoad = w.sampler.ranForLoad(res.Opened, closed, w.waited)
	o.DatabaseGrowth = w.scrapes.databaseGrowth(res.Opened, closed)
	o.SamplingCPUSeconds = w.sampler.took(res.Opened, closed)
	return o
}

// askAgain asks for the cluster's state after the window, within bounds even
// when the trial was interrupted.
func (t *Trial) askAgain(m *members) []cluster.Change {
	ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
	defer cancel()
	changes, _ := m.ask(ctx) // members that do not answer are what it is to find out
	return changes
}

// meet asks the members at the given endpoints for their state.
func (t *Trial) meet(ctx context.Context, access store.Access) (*members, error) {
	admin, err := t.Cluster.Store.Admin(access)
	if err != nil {
		return nil, err
	}
	// A user who allows more time to connect allows it for this too: a member
	// without a leader may answer after seconds.
	m, err := meet(ctx, admin, access.Endpoints, t.Cluster.names(), max(statusTimeout, access.DialTimeout))
	if err != nil {
		_ = admin.Close() // the answer that failed is the one to return
		return nil, fmt.Errorf("%s does not report its state: %w", t.Cluster.Store.Name(), err)
	}
	return m, nil
}

// compactFirst discards the store's history, where the load asks for it: what is
// measured then begins as on a store that was never written to but for its keys.
func (t *Trial) compactFirst(ctx context.Context, m *members) error {
	if !t.Spec.Load.CompactFirst {
		return nil
	}
	t.report(Progress{Stage: "compacting"})
	ctx, cancel := context.WithTimeout(ctx, firstCompactionTimeout)
	defer cancel()
	if _, err := m.admin.(store.Operator).Compact(ctx); err != nil { // the scenario was refused without it
		return fmt.Errorf("the store's history cannot be compacted before the load: %w", err)
	}
	return nil
}

// firstCompactionTimeout leaves room for the history of a large preload.
const firstCompactionTimeout = time.Minute
