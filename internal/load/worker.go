package load

import (
	"context"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Worker generates load: this process (Local), another one, or several together
// (Workers). Its caller cannot tell which. An Assignment stays as it is, and its
// load is one that package scenario has not refused: a worker does not look again,
// so that what comes from elsewhere is to be checked before.
type Worker interface {
	// Clock is the time on the worker's clock.
	Clock(ctx context.Context) (time.Time, error)
	// Check asks every endpoint for what the load will ask for, so that a server
	// that is not there, speaks something else or does not let us in is known, in
	// one sentence, before anything is measured. It returns how many event loops
	// the worker drives the load with.
	Check(ctx context.Context, a *Assignment) (loops int, err error)
	// Preload makes every key of the key space exist with a value of the load's
	// size: it reads all, and writes those that are missing or not ours. It
	// returns when every endpoint that the load reads from serves what it wrote.
	Preload(ctx context.Context, a *Assignment) (*Preloaded, error)
	// WriteVersions writes the key that is watched as often as its watchers are
	// to get events of earlier writes, and returns the revision of the first.
	WriteVersions(ctx context.Context, a *Assignment) (first int64, err error)
	// ReadBack reads every key of the load's key space once at the assignment's
	// endpoints and at a level, when the load has ended, and records these reads as
	// final ones; to is nil where nobody wants them. It returns how many keys are
	// there, whoever wrote them.
	ReadBack(ctx context.Context, a *Assignment, level kv.Consistency, to History) (found uint64, err error)
	// Prepare makes a load that can be run once; nothing is connected yet.
	Prepare(ctx context.Context, a *Assignment, to Reports) (Job, error)
}

// Job is a load that was prepared. It ends with Run, with a Connect that fails,
// or with Close.
type Job interface {
	// Connect makes all connections, and the watchers that are there from the
	// beginning. After an error the job has ended.
	Connect(ctx context.Context) error
	// Run begins the first phase at a time of the worker's clock, or as soon as
	// it can if that has passed, and returns when the load has ended and what was
	// in flight was awaited. When ctx ends, the window closes then, and what it
	// had is returned.
	Run(ctx context.Context, begin time.Time) (*Result, error)
	// Progress is how far the load is. It may be called at any time, as may the
	// two below.
	Progress() Progress
	// Epoch says that another leader began, for stores whose answers carry no
	// term: operations that are sent from now on belong to the given term, which
	// rises.
	Epoch(term uint64)
	// Retarget moves the load to other endpoints, as an election asks for: at
	// once, and what is in flight ends where it is.
	Retarget(endpoints []string)
	// Close ends a job that is not to be run, connected or not; of any other it
	// changes nothing.
	Close()
}

// Reports takes what a worker reports while a load runs. Each may be nil, and
// none takes long or blocks.
type Reports struct {
	// Second takes every second, merged, when nothing due in it is open any more:
	// from one goroutine at a time. Its histograms are used again afterwards.
	Second func(*measure.Second)
	// SecondsOnly says that who takes them adds them up: the result then has an
	// ending alone, and neither Measured nor Warmup.
	SecondsOnly bool
	// Reader reads what comes from other machines; nil: each worker has its own.
	Reader *measure.Reader
	// History returns for each loop what records its operations. Nil: nobody wants
	// them.
	History History
	// Changed takes that a connection was lost, or that an answer carried a
	// higher term than any before.
	Changed func(term uint64, lost bool)
	// Mark takes when a phase began in the first loop, and when the load ended in
	// the last. A Local calls it from that loop's thread.
	Mark func(Mark)
}

// Mark is the beginning of a phase, or the end of the last.
type Mark struct {
	Phase measure.Phase
	Ended bool
	At    time.Time // on the worker's clock
}

// History returns what records a loop's operations on a clock that stood at 0 at
// zero, give or take within. It is used from one goroutine until the load has
// ended, and flushed then. Histories of several loops can be asked for at once.
type History func(zero time.Time, within time.Duration) *history.Recorder

// marks counts which of several loops, or workers, have come to a phase or to the
// end: all of them together begin with the first, and end with the last.
type marks struct {
	of     int
	report func(Mark) // nil for nobody

	mu    sync.Mutex
	begun [2]bool // by phase
	ended int
}

// take reports whether one's mark is that of all.
func (k *marks) take(m Mark) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m.Ended {
		k.ended++
		return k.ended == k.of
	}
	first := !k.begun[m.Phase]
	k.begun[m.Phase] = true
	return first
}

func (k *marks) pass(m Mark) {
	if k.report != nil {
		k.report(m)
	}
}

// Progress is a running load as seen from outside.
type Progress struct {
	Done, Failed uint64 // operations ended, warm-up included
	Events       uint64 // that watchers got
	InFlight     int64
	Phase        string // connecting or draining, warmup, measured
}

// Run has a worker do an assignment, from connecting to the end.
func Run(ctx context.Context, w Worker, a *Assignment, to Reports) (*Result, error) {
	job, err := w.Prepare(ctx, a, to)
	if err != nil {
		return nil, err
	}
	return RunJob(ctx, job)
}

// RunJob is the same of a job that was prepared.
func RunJob(ctx context.Context, job Job) (*Result, error) {
	if err := job.Connect(ctx); err != nil {
		return nil, err
	}
	return job.Run(ctx, time.Time{})
}

// Named is one of several workers, with the name that sentences and records call it.
type Named struct {
	Worker
	Name string
	// Beside is how many more of them are in the same process.
	Beside int
}

// Prepare implements Worker.
func (n Named) Prepare(ctx context.Context, a *Assignment, to Reports) (Job, error) {
	one := *a
	one.Beside = n.Beside
	return n.Worker.Prepare(ctx, &one, to)
}
