package load

import (
	"context"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Worker generates load: in this process (Local), on another machine, or on several
// (Workers). A worker does not change an Assignment. It expects a load that package scenario
// has accepted, so data from another machine must be validated first (Assignment.Valid).
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
	// Check tests every endpoint with the reads that the load will send. It returns a
	// one-sentence error if a server is not there, speaks another protocol or refuses access.
	// It also returns the number of event loops that the worker uses for the load.
	Check(ctx context.Context, a *Assignment) (loops int, err error)
	// Preload makes every key of the key space exist with a value of the load's size. It reads
	// all keys, and writes those that are missing or have a value of another origin. It returns
	// when every endpoint that the load reads from serves what it wrote.
	Preload(ctx context.Context, a *Assignment) (*Preloaded, error)
	// WriteVersions writes the watched key as often as watchers must receive events of
	// earlier writes, and returns the revision of the first write.
	WriteVersions(ctx context.Context, a *Assignment) (first int64, err error)
	// ReadBack reads every key of the load's key space once after the load, at the
	// assignment's endpoints and at a consistency level, and records these reads as final. to
	// may be nil. It returns the number of keys that exist, whatever their values are.
	ReadBack(ctx context.Context, a *Assignment, level kv.Consistency, to History) (found uint64, err error)
	// Prepare creates a job without connecting. The job can run once.
	Prepare(ctx context.Context, a *Assignment, to Reports) (Job, error)
}

// Job is a prepared load. It ends with Run, with a Connect that fails, or with Close.
type Job interface {
	// Connect opens all connections, and creates the watchers that exist from the start.
	// After an error the job has ended.
	Connect(ctx context.Context) error
	// Run begins the first phase at a time on the worker's clock, or as soon as possible if
	// that has passed. It returns after the load has ended and drained. When ctx is
	// cancelled, the window closes early, and Run returns what was measured.
	Run(ctx context.Context, begin time.Time) (*Result, error)
	// Progress returns the load's progress. Progress, Epoch and Retarget may be called at any
	// time.
	Progress() Progress
	// Epoch sets the term of a new leader, for stores whose replies carry no term. Operations
	// sent after the call belong to this term. Terms must increase.
	Epoch(term uint64)
	// Retarget moves the load to other endpoints at once, for example after a leader change.
	// Operations in flight complete at the old endpoints.
	Retarget(endpoints []string)
	// Close ends a job that will not run, whether it is connected or not. After Run it has no
	// effect.
	Close()
}

// Reports holds the functions that a worker calls while a load runs. Each may be nil, and none
// may block or take long.
type Reports struct {
	// Second receives every second, merged, after all its operations have ended. Calls do
	// not overlap. The worker reuses the second's histograms afterwards.
	Second func(*measure.Second)
	// SecondsOnly reports that the caller adds up the seconds itself. Then the result has an
	// Ending, and Measured and Warmup are nil.
	SecondsOnly bool
	// Reader decodes seconds from other machines; nil: each worker uses its own.
	Reader *measure.Reader
	// History returns the recorder for the operations of a loop; nil: they are not recorded.
	History History
	// Changed is called when a connection was lost, or when a reply had a higher term than all
	// earlier replies.
	Changed func(term uint64, lost bool)
	// Mark is called when the first loop begins a phase, and when the last loop has ended the
	// load. A Local calls it on that loop's thread.
	Mark func(Mark)
}

// Mark describes the beginning of a phase, or the end of the last one.
type Mark struct {
	Phase measure.Phase
	Ended bool
	At    time.Time // on the worker's clock
}

// History returns the recorder for a loop's operations. zero is the time at which the loop's
// clock was 0, accurate to within. One goroutine uses the recorder until the load has ended,
// and then flushes it. Several goroutines may call the function concurrently.
type History func(zero time.Time, within time.Duration) *history.Recorder

// marks combines the marks of several loops or workers: a phase begins with the first of
// them, and the load ends with the last.
type marks struct {
	parts  int        // number of loops or workers
	report func(Mark) // may be nil

	mu    sync.Mutex
	begun [2]bool // by phase
	ended int
}

// takeMark adds one mark, and reports whether it is the first of its phase, or the last end.
func (k *marks) takeMark(m Mark) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m.Ended {
		k.ended++
		return k.ended == k.parts
	}
	first := !k.begun[m.Phase]
	k.begun[m.Phase] = true
	return first
}

// reportMark reports a combined mark.
func (k *marks) reportMark(m Mark) {
	if k.report != nil {
		k.report(m)
	}
}

// Progress describes the state of a running load.
type Progress struct {
	Done, Failed uint64 // ended operations, including warm-up
	Events       uint64 // watch events received
	InFlight     int64
	Phase        string // connecting or draining, warmup, measured
}

// Run prepares, connects and runs an assignment on a worker.
func Run(ctx context.Context, w Worker, a *Assignment, to Reports) (*Result, error) {
	job, err := w.Prepare(ctx, a, to)
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

// Named is one of several workers, with a name for messages and records.
type Named struct {
	Worker
	Name string
	// OtherWorkers is the number of other workers in the same process.
	OtherWorkers int
}

// Prepare implements Worker.
func (n Named) Prepare(ctx context.Context, a *Assignment, to Reports) (Job, error) {
	one := *a
	one.OtherWorkers = n.OtherWorkers
	return n.Worker.Prepare(ctx, &one, to)
}
