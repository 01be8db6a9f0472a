package load

import (
	"context"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Worker generates load: in this process (Local), on another machine, or on several machines
// (Workers). A worker does not modify an Assignment. It expects that package scenario has validated
// the load, so an assignment from another machine must first be validated with Assignment.Valid.
//
// A complete run calls the methods in this order:
//
//	loops, err := w.Check(ctx, a)
//	a.Preloaded, err = w.Preload(ctx, a)
//	job, err := w.Prepare(ctx, a, reports)
//	err = job.Connect(ctx)
//	result, err := job.Run(ctx, begin)
//	found, err := w.ReadBack(ctx, a, level, history)
type Worker interface {
	// Clock returns the time on the worker's clock.
	Clock(ctx context.Context) (time.Time, error)
	// Check tests every endpoint with the kinds of reads that the load will send. It returns an
	// error that consists of one sentence if a server is not running, speaks a different protocol
	// or refuses access. It also returns the number of event loops that the worker uses for the
	// load.
	Check(ctx context.Context, a *Assignment) (loops int, err error)
	// Preload makes sure that every key in the key space exists and has a value of the load's size.
	// It reads all keys, and writes those that do not exist or have a value from another source. It
	// returns when every endpoint from which the load reads serves the written values.
	Preload(ctx context.Context, a *Assignment) (*Preloaded, error)
	// WriteVersions writes the watched key once for each earlier event that watchers must receive.
	// It returns the revision of the first write.
	WriteVersions(ctx context.Context, a *Assignment) (first int64, err error)
	// ReadBack reads every key of the load's key space once, after the load, and records these
	// reads as final. It uses the assignment's endpoints and the given consistency level. The
	// parameter `newRecorder` may be nil. ReadBack returns the number of keys that exist, whatever
	// their values are.
	ReadBack(ctx context.Context, a *Assignment, level kv.Consistency, newRecorder RecorderFactory) (found uint64, err error)
	// Prepare creates a job without connecting. The job can run only once.
	Prepare(ctx context.Context, a *Assignment, reports Reports) (Job, error)
}

// Job is a prepared load. It ends after Run, after a Connect that fails, or after Close.
type Job interface {
	// Connect opens all connections and creates the watchers that must exist before the load
	// starts. If Connect returns an error, the job has ended.
	Connect(ctx context.Context) error
	// Run begins the first phase at the time `begin` on the worker's clock, or as soon as possible
	// if that time has passed. It returns after the load has ended and drained. If ctx is
	// cancelled, the window closes early, and Run returns the measurements up to then.
	Run(ctx context.Context, begin time.Time) (*Result, error)
	// Progress returns the load's progress. Progress, Epoch and Retarget may be called at any time.
	Progress() Progress
	// Epoch sets the term of a new leader, for stores whose replies contain no term. Operations
	// that are sent after the call are counted in this term. Terms must increase.
	Epoch(term uint64)
	// Retarget moves the load to other endpoints at once, for example after a leader change.
	// Operations in flight complete at the previous endpoints.
	Retarget(endpoints []string)
	// Close ends a job that will not be run, whether it is connected or not. It has no effect after
	// Run.
	Close()
}

// Reports holds functions that a worker calls while a load runs. Each of them may be nil. They must
// not block, and must return quickly.
type Reports struct {
	// Second receives every merged second after all its operations have ended. Calls do not
	// overlap. After the call, the worker reuses the second's histograms.
	Second func(*measure.Second)
	// SecondsOnly is set if the caller itself computes the totals of the seconds. Result.Measured
	// and Result.Warmup are then nil.
	SecondsOnly bool
	// Reader decodes the seconds that other machines send. If it is nil, each worker uses its own
	// Reader.
	Reader *measure.Reader
	// NewRecorder returns the recorder for a loop's operations. If it is nil, operations are not
	// recorded.
	NewRecorder RecorderFactory
	// OnClusterChange is called when a connection is lost, or when a reply contains a higher term
	// than all earlier replies.
	OnClusterChange func(term uint64, lost bool)
	// OnPhaseChange is called when the first loop begins a phase, and when the last loop has ended
	// the load. A Local calls it on the thread of that loop.
	OnPhaseChange func(PhaseChange)
}

// PhaseChange describes the beginning of a phase, or the end of the last phase.
type PhaseChange struct {
	Phase measure.Phase
	Ended bool
	At    time.Time // on the worker's clock
}

// RecorderFactory returns the recorder for a loop's operations. The parameter `clockStart` is the
// time at which the loop's clock was 0, with an error of at most `maxError`. Only one goroutine
// uses the recorder, and the recorder is flushed when the load has ended. The function itself may
// be called concurrently by several goroutines.
type RecorderFactory func(clockStart time.Time, maxError time.Duration) *history.Recorder

// phaseChanges combines the phase changes from several loops or workers: a phase begins when the
// first of them begins it, and the load ends when the last of them has ended.
type phaseChanges struct {
	parts  int               // number of loops or workers whose phase changes are combined
	report func(PhaseChange) // may be nil

	mu          sync.Mutex
	begunPhases [2]bool // by phase
	endedParts  int
}

// addPhaseChange adds a phase change. It returns true if the phase change is the first one for its
// phase, or the last one that reports an end.
func (k *phaseChanges) addPhaseChange(m PhaseChange) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m.Ended {
		k.endedParts++
		return k.endedParts == k.parts
	}
	first := !k.begunPhases[m.Phase]
	k.begunPhases[m.Phase] = true
	return first
}

// reportPhaseChange reports a phase change to the caller of the load.
func (k *phaseChanges) reportPhaseChange(m PhaseChange) {
	if k.report != nil {
		k.report(m)
	}
}

// Progress describes the state of a running load.
type Progress struct {
	Done, Failed uint64 // completed and failed operations, including those in the warm-up
	Events       uint64 // watch events received
	InFlight     int64
	Phase        string // connecting, warmup, measured, or draining
}

// Run prepares, connects and runs an assignment on a worker.
func Run(ctx context.Context, w Worker, a *Assignment, reports Reports) (*Result, error) {
	job, err := w.Prepare(ctx, a, reports)
	if err != nil {
		return nil, err
	}
	return RunJob(ctx, job)
}

// RunJob connects and runs a prepared job.
func RunJob(ctx context.Context, job Job) (*Result, error) {
	if err := job.Connect(ctx); err != nil {
		return nil, err
	}
	return job.Run(ctx, time.Time{})
}

// NamedWorker is one of several workers. Its name is used in messages and records.
type NamedWorker struct {
	Worker
	Name string
	// OtherWorkers is the number of other workers in the same process.
	OtherWorkers int
}

// Prepare implements Worker.
func (n NamedWorker) Prepare(ctx context.Context, a *Assignment, reports Reports) (Job, error) {
	one := *a
	one.OtherWorkers = n.OtherWorkers
	return n.Worker.Prepare(ctx, &one, reports)
}
