package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// maxStopTime is the maximum time that a load may take to end after it was asked to stop.
const maxStopTime = 30 * time.Second

// Worker is a load.Worker that sends its calls over streams to the load.Worker at the other end.
type Worker struct {
	open func(context.Context) (Stream, error)
}

var _ load.Worker = (*Worker)(nil)

// New returns a worker that calls `open` to get a stream for each call.
func New(open func(context.Context) (Stream, error)) *Worker { return &Worker{open: open} }

// callOnce makes a call that has a single reply. If an error occurs, the returned reply is empty.
func (w *Worker) callOnce(ctx context.Context, m message) (reply, error) {
	s, a, err := w.openCall(ctx, m, nil)
	if err != nil {
		return reply{}, err
	}
	_ = s.Close() // we have the reply, so an error does not matter
	return *a, nil
}

// openCall opens a stream and makes a call on it. If no error occurs, the caller owns the stream.
// The function `handlePart` handles the parts of a history that arrive before the reply. If
// `handlePart` is nil, openCall refuses such parts.
func (w *Worker) openCall(ctx context.Context, m message, handlePart func([]byte) error) (Stream, *reply, error) {
	b, err := encode(m)
	if err != nil {
		return nil, nil, err
	}
	if a := m.Assignment; a != nil && !utf8.ValidString(a.Load.Prefix+a.Access.User) {
		return nil, nil, errors.New("a prefix, user or password that is not UTF-8 text cannot be sent to another machine; use UTF-8 text only")
	}
	s, err := w.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	release := context.AfterFunc(ctx, func() { _ = s.Close() })
	var partErr error // an error from handlePart
	response, err := func() (*message, error) {
		if err := s.Send(b); err != nil {
			return nil, err
		}
		return receive(s, func(b []byte) (taken bool) {
			part, ok := cutHistory(b)
			if ok = ok && handlePart != nil; ok && partErr == nil {
				partErr = handlePart(part)
			}
			return ok && partErr == nil
		})
	}()
	release()
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case partErr != nil:
		err = partErr
	case err != nil:
		err = fmt.Errorf("the worker does not respond: %w", err)
	case response.Reply == nil:
		err = errors.New("the worker sent a different message instead of the reply")
	default:
		err = response.Reply.asError()
	}
	if err != nil {
		_ = s.Close() // an error does not matter
		return nil, nil, err
	}
	return s, response.Reply, nil
}

// Clock implements load.Worker.
func (w *Worker) Clock(ctx context.Context) (time.Time, error) {
	a, err := w.callOnce(ctx, message{Call: clock})
	return a.Clock, err
}

// Check implements load.Worker.
func (w *Worker) Check(ctx context.Context, a *load.Assignment) (loops int, err error) {
	got, err := w.callOnce(ctx, message{Call: check, Assignment: a})
	return got.Loops, err
}

// Preload implements load.Worker.
func (w *Worker) Preload(ctx context.Context, a *load.Assignment) (*load.Preloaded, error) {
	got, err := w.callOnce(ctx, message{Call: preload, Assignment: a})
	if err == nil && got.Preloaded == nil {
		err = errors.New("the worker's reply does not contain the result of its preload")
	}
	return got.Preloaded, err
}

// WriteVersions implements load.Worker.
func (w *Worker) WriteVersions(ctx context.Context, a *load.Assignment) (first int64, err error) {
	got, err := w.callOnce(ctx, message{Call: writeVersions, Assignment: a})
	return got.First, err
}

// Prepare implements load.Worker.
func (w *Worker) Prepare(ctx context.Context, a *load.Assignment, reports load.Reports) (load.Job, error) {
	s, _, err := w.openCall(ctx, message{Call: prepare, Assignment: a, History: reports.NewRecorder != nil}, nil)
	if err != nil {
		return nil, err
	}
	if reports.Reader == nil {
		reports.Reader = &measure.Reader{}
	}
	j := &job{
		stream: s, reports: reports, assignment: *a, merger: load.NewMerger(a, 1, reports.Second, reports.Reader.Recycle),
		connected: make(chan error, 1), ended: make(chan struct{}),
		progress: load.Progress{Phase: "connecting"},
	}
	j.history = recorders{newRecorder: reports.NewRecorder, assignment: &j.assignment, byLoop: map[uint64]*history.Recorder{}}
	j.merger.SecondsOnly(reports.SecondsOnly)
	go j.listen()
	return j, nil
}

// job is a load that runs on another worker.
type job struct {
	stream     Stream
	reports    load.Reports
	assignment load.Assignment
	merger     *load.Merger
	connected  chan error
	ended      chan struct{} // closed after the last report

	mu        sync.Mutex
	progress  load.Progress
	running   bool  // Run was called
	err       error // why the worker sent no ending
	hasEnding bool  // the ending has arrived

	history recorders // used only by listen

	lastSecond  *measure.Second // used only by listen
	dueInWindow uint64          // operations due in the window; used only by listen
}

// listen handles the worker's reports until the job has ended.
func (j *job) listen() {
	defer close(j.ended)
	defer j.history.flush()
	for {
		b, err := j.stream.Receive()
		if err != nil {
			j.fail(fmt.Errorf("the worker was lost: %w", err))
			return
		}
		isLast := false
		if second, ok := cutSecond(b); ok {
			err = j.reports.Reader.Read(second, j.second)
		} else if part, ok := cutHistory(b); ok {
			err = j.history.record(part)
		} else if m, failed := decode(b); failed != nil {
			err = failed
		} else {
			isLast, err = j.handle(m)
		}
		if err != nil {
			j.fail(err)
		}
		if isLast || err != nil {
			_ = j.stream.Close() // no more reports are expected
			return
		}
	}
}

func (j *job) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil && !j.hasEnding {
		j.err = err
	}
}

// second handles a per-second report. The reports must arrive in the order of the seconds.
func (j *job) second(s *measure.Second) error {
	if l := j.lastSecond; l != nil && (s.Phase < l.Phase || s.Phase == l.Phase && s.Index <= l.Index) {
		return fmt.Errorf("the worker reports seconds out of order: second %d of the %v phase follows second %d of the %v phase", s.Index, s.Phase, l.Index, l.Phase)
	}
	j.lastSecond = &measure.Second{Phase: s.Phase, Index: s.Index}
	if s.Phase == measure.Measured {
		j.dueInWindow += s.Due // cannot overflow
		if d := j.assignment.Load.Duration; d > 0 && s.Index > int((d+j.assignment.Load.Timeout)/time.Second)+1 {
			return fmt.Errorf("the worker reports second %d, but the measurement window is only %v long", s.Index, d)
		}
	}
	if err := j.assignment.CheckPlausible(j.dueInWindow, nil); err != nil {
		return fmt.Errorf("the worker's report is impossible: %w", err)
	}
	j.merger.Add(0, s)
	return nil
}

// handle handles a message. The result `isLast` is true if the message is the last one.
func (j *job) handle(m *message) (isLast bool, err error) {
	switch {
	case m.Changed != nil:
		if j.reports.OnClusterChange != nil {
			j.reports.OnClusterChange(m.Changed.Term, m.Changed.Lost)
		}
	case m.PhaseChange != nil:
		if m.PhaseChange.Phase > measure.Measured {
			return false, errors.New("the worker reports an unknown phase")
		}
		if j.reports.OnPhaseChange != nil {
			j.reports.OnPhaseChange(*m.PhaseChange)
		}
	case m.Progress != nil:
		j.mu.Lock()
		j.progress = *m.Progress
		j.mu.Unlock()
	case m.Reply != nil:
		j.mu.Lock()
		running := j.running
		j.mu.Unlock()
		err := m.Reply.asError()
		if running && err != nil {
			return false, err
		}
		select {
		case j.connected <- err:
		default:
			running = true
		}
		if running {
			return false, errors.New("the worker replied without a request")
		}
		return err != nil, nil
	case m.Ending != nil:
		e, err := m.Ending.decode()
		if err == nil {
			err = j.assignment.CheckPlausible(j.dueInWindow, e)
		}
		if err != nil {
			return false, fmt.Errorf("the worker reports an impossible ending of its load: %w", err)
		}
		j.merger.End(0)
		j.merger.Merge(e)
		j.mu.Lock()
		j.hasEnding = true
		j.mu.Unlock()
		return true, nil
	}
	return false, nil
}

func (j *job) send(m message) error {
	b, err := encode(m)
	if err != nil {
		return err
	}
	return j.stream.Send(b)
}

// mustSend sends a message that the worker must receive. If it cannot be sent, mustSend returns the
// reason why the job ended.
func (j *job) mustSend(m message) error {
	failed := j.send(m)
	if failed == nil {
		return nil
	}
	j.Close()
	<-j.ended
	if err := j.endError(); err != nil {
		return err
	}
	return fmt.Errorf("the worker was lost: %w", failed)
}

// Connect implements load.Job.
func (j *job) Connect(ctx context.Context) error {
	if err := j.mustSend(message{Connect: true}); err != nil {
		return err
	}
	select {
	case err := <-j.connected:
		return err
	case <-ctx.Done():
		j.Close()
		return context.Cause(ctx)
	case <-j.ended:
	}
	select {
	case err := <-j.connected: // the worker's last message before the job ended
		return err
	default:
		return j.endError()
	}
}

// Run implements load.Job.
func (j *job) Run(ctx context.Context, begin time.Time) (*load.Result, error) {
	defer j.Close()
	j.mu.Lock()
	j.running = true
	j.mu.Unlock()
	if err := j.mustSend(message{Run: &begin}); err != nil {
		return nil, err
	}
	select {
	case <-j.ended:
	case <-ctx.Done():
		// An error means that the worker no longer exists, so its load has stopped.
		_ = j.send(message{Stop: true})
		limit := time.NewTimer(maxStopTime)
		defer limit.Stop()
		select {
		case <-j.ended:
		case <-limit.C:
			j.Close()
			<-j.ended // after this, the worker's reports have ended
			return nil, fmt.Errorf("the worker's load did not end within %v after it was stopped", maxStopTime)
		}
	}
	if err := j.endError(); err != nil {
		return nil, err
	}
	return j.merger.Result()
}

// endError returns why the job ended, or nil if it ended normally.
func (j *job) endError() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Progress implements load.Job.
func (j *job) Progress() load.Progress {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.progress
}

// Epoch implements load.Job. An error does not matter, because a worker that is lost needs no
// epoch.
func (j *job) Epoch(term uint64) { _ = j.send(message{Epoch: term}) }

// Retarget implements load.Job. An error does not matter, as in Epoch.
func (j *job) Retarget(endpoints []string) { _ = j.send(message{Retarget: endpoints}) }

// Close implements load.Job.
func (j *job) Close() { _ = j.stream.Close() }
