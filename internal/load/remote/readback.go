package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// ReadBack implements load.Worker. It records each read with times of this machine's clock: the
// read starts with the request to the worker, and ends when the worker's report of the read
// arrives. This interval is longer than the actual read. Therefore a violation can remain
// undetected, but a correct store cannot look wrong.
func (w *Worker) ReadBack(ctx context.Context, a *load.Assignment, level kv.Consistency, newRecorder load.RecorderFactory) (found uint64, err error) {
	asked := measure.Now()
	r := recorders{assignment: a, final: true, clockStart: asked, byLoop: map[uint64]*history.Recorder{}}
	if newRecorder != nil {
		r.newRecorder = func(time.Time, time.Duration) *history.Recorder { return newRecorder(asked, 0) }
	}
	defer r.flush()
	s, got, err := w.openCall(ctx, message{Call: readBack, Assignment: a, Level: level, History: newRecorder != nil}, r.record)
	if err != nil {
		return 0, err
	}
	_ = s.Close() // we have the reply, so an error does not matter
	if most := a.MaxKeys(); got.Found > most {
		return 0, fmt.Errorf("the worker reports that it found %d keys, but its load has at most %d keys", got.Found, most)
	}
	return got.Found, nil
}

// maxLoops limits the number of event loops that a worker may report.
const maxLoops = 1024

// maxRounds limits how many times a worker reads all keys. A worker may repeat reads because reads
// fail during an election.
const maxRounds = 8

// recorders records the operations that a worker reports, with one recorder per event loop of the
// worker.
type recorders struct {
	newRecorder load.RecorderFactory // nil if operations are not recorded
	assignment  *load.Assignment
	// final is set if the operations are reads of the keys after the load. Their times are on this
	// machine's clock.
	final      bool
	count      uint64    // number of final reads
	clockStart time.Time // start of the clock for the final reads
	byLoop     map[uint64]*history.Recorder
}

func (r *recorders) record(b []byte) error {
	part, err := readHistory(b)
	if err != nil || r.newRecorder == nil {
		return err
	}
	recorder := r.byLoop[part.loop]
	if recorder == nil {
		if part.loop >= maxLoops {
			return fmt.Errorf("the worker reports operations of loop %d, but a worker can have at most %d loops", part.loop, maxLoops)
		}
		recorder = r.newRecorder(part.zero, 0)
		r.byLoop[part.loop] = recorder
	}
	received := int64(0)
	if r.final {
		received = int64(time.Since(r.clockStart))
	}
	for i := range part.ops {
		o := &part.ops[i]
		if o.Key >= r.assignment.KeyNumberLimit() || r.final && !isReadBackOp(o) || !r.final && o.Final || o.Invoked > o.Done {
			return errors.New("the worker reports an operation that its load cannot contain")
		}
		if r.final {
			if r.count++; r.count > maxRounds*r.assignment.MaxKeys() {
				return errors.New("the worker reports more reads than are possible for the keys of its load")
			}
			o.Invoked, o.Done = 0, received
		}
		recorder.Add(o)
	}
	return nil
}

// isReadBackOp reports whether o is an operation that a worker can record when it reads keys after
// a load: a read, or the possible deletion of a key that an earlier load had written.
func isReadBackOp(o *history.Op) bool {
	if o.Final {
		return o.Kind == kv.Get || o.Kind == kv.Exists
	}
	return *o == history.PossibleDelete(o.Key, o.Session, o.Invoked, o.Done)
}

func (r *recorders) flush() {
	for _, recorder := range r.byLoop {
		recorder.Flush()
	}
}
