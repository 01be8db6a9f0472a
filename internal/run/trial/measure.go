package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/store"
)

// notStartedError is the reason why a load ended before it sent its first operation.
type notStartedError struct{ cause error }

func (e *notStartedError) Error() string { return e.cause.Error() }

// Unwrap returns the reason.
func (e *notStartedError) Unwrap() error { return e.cause }

// answerNotes returns notes about responses that are stale or cannot be verified. Neither counts as
// a wrong response.
func answerNotes(m *measure.Totals) (notes []string) {
	if n := m.Outcomes[kv.Stale]; n > 0 {
		notes = append(notes, fmt.Sprintf("%d reads were stale: they returned an older value that quorumbench had written, or found no value although quorumbench had written one.", n))
	}
	if n := m.Outcomes[kv.Unverifiable]; n > 0 {
		notes = append(notes, fmt.Sprintf("%d reads returned a value of less than %d bytes. Such a value contains no checksum, so quorumbench cannot verify it.", n, keys.HeadLen))
	}
	return notes
}

// memberList returns the members for the record. The ID of a member is taken from its responses,
// because operations are attributed to members by this ID. If the responses contain no ID, the ID
// in the member's status is used.
func memberList(status *store.Status, memberOf map[string]uint64) []record.Member {
	all := make([]record.Member, 0, len(status.Members))
	for i := range status.Members {
		e := &status.Members[i]
		all = append(all, record.Member{ID: record.ID(cmp.Or(memberOf[e.Endpoint], e.ID)), Name: e.Name, Endpoint: e.Endpoint, Alarms: e.Alarms})
	}
	return all
}

// measure runs the load and returns its result. If the load failed and neither its warm-up nor its
// window was recorded, measure returns a notStartedError.
func (t *Trial) measure(ctx context.Context, a *load.Assignment, m *members, out *record.TrialWriter, clean *cleaner) (*record.Trial, error) {
	c := t.conditions(m, a)
	w, err := newMonitor(ctx, t, m, out)
	if err != nil {
		return nil, err
	}
	w.clean = clean
	defer w.scrapes.close()
	if err := t.scrapeBeforeLoad(w.scrapes); err != nil {
		return nil, err
	}
	run := ctx
	ctx, w.stop = context.WithCancel(ctx)
	defer w.stop()
	t.report(Progress{Stage: StageConnecting})
	started := measure.Now()
	history := t.newHistorian(ctx, m, out.Dir())
	defer func() { _ = history.close(false) }() // verifyAnswers has already closed the history, unless something failed
	job, err := t.Worker.Prepare(ctx, a, load.Reports{Second: w.second, NewRecorder: history.reports(), OnClusterChange: w.onChange, OnPhaseChange: w.mark})
	if err != nil {
		return nil, err
	}
	if err := history.firstError(); err != nil {
		job.Close()
		return nil, err
	}
	w.begin(run, job, a.Endpoints)
	clean.begin()
	res, err := load.RunJob(ctx, job)
	if res != nil {
		t.Cluster.Guard.RecordLeases(res.Leases)
	}
	hostLoss := w.end()
	if err := w.explainFailure(res, err, hostLoss, history); err != nil {
		return nil, err
	}
	w.handleChanges(t.refreshStatus(m))
	w.scrapes.scrapeAll(statusTimeout)
	w.readLastLogs(context.WithoutCancel(ctx))
	if err := w.recordCreation(res.Measured); err != nil && w.err == nil {
		return nil, err
	}
	observed := w.observed(res)
	observed.ClockChanges = w.clockSet()
	observed.Hashes = t.hashes(ctx, m)
	observed.Verification = history.verifyAnswers(run, m, a, res)
	observed.Started = started
	return t.conclude(ctx, &c, w, res, &observed)
}

// explainFailure returns the reason why a load has no result. The reason is the error from running
// the load, or the failure that caused this error. explainFailure returns nil if the load has a
// result.
func (w *monitor) explainFailure(res *load.Result, err, lost error, history *historian) error {
	switch {
	case w.err != nil && (err != nil || res == nil):
		return w.err // the record could not be written
	case errors.Is(err, load.ErrNoWindow) && lost != nil:
		return lost
	case errors.Is(err, load.ErrNoWindow) && w.full.Load():
		return w.outOfSpace()
	case err != nil && w.phaseBegun == [2]bool{}: // nothing was recorded, and nothing will be
		history.remove()
		return &notStartedError{err}
	}
	return err
}

// conclude completes the observations of a finished load, and returns the trial's result.
func (t *Trial) conclude(ctx context.Context, c *record.Conditions, w *monitor, res *load.Result, observed *record.Observed) (*record.Trial, error) {
	if t.Replayed != nil {
		observed.Replay = t.Replayed()
	}
	folder, note := t.dataDir(ctx)
	observed.DataDir = folder
	observed.Opened, observed.State = res.Opened, record.Complete
	if res.Interrupted {
		observed.State = record.Interrupted
	}
	status := w.m.status()
	observed.Members, observed.DoneCounts = memberList(&status, res.MemberByEndpoint), w.out.DoneCounts()
	observed.WarmupSeconds, observed.Steady = res.WarmupSeconds, res.Steady
	w.attribute(observed, res)
	c.Notes = slices.Concat(c.Notes, w.notes(), note, answerNotes(res.Measured), observed.Replay.Notes())
	if t.NoSpace = w.outOfSpace(); t.NoSpace != nil {
		c.Notes = append(c.Notes, "The load ended early: "+t.NoSpace.Error()+".")
	}
	result := record.NewTrial(*c, *observed, res.Measured, res.Warmup, w.m.roles())
	if w.err != nil {
		t.Unrecorded = &result
		return nil, w.err
	}
	return &result, nil
}

// refreshStatus asks the members for their status after the window has closed. It has its own time
// limit, so that it works even if the trial was interrupted.
func (t *Trial) refreshStatus(m *members) []cluster.Change {
	ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
	defer cancel()
	changes, _ := m.queryStatus(ctx) // members that do not respond are among the changes
	return changes
}
