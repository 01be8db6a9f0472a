package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// minProgressInterval is the interval at which each worker reports the progress of its load if the
// number of workers is at most `baseWorkers`. For more workers, the interval grows in proportion to
// their number.
const (
	minProgressInterval = 100 * time.Millisecond
	baseWorkers         = 8
)

// progressInterval returns the interval at which each worker reports progress, for the given number
// of workers.
func progressInterval(workers int) time.Duration {
	return max(minProgressInterval, minProgressInterval*time.Duration(workers)/baseWorkers)
}

// Serve receives a call from the stream, lets w execute the call, sends the reply, and closes the
// stream. If the other side closes the stream, Serve stops the call immediately.
func Serve(ctx context.Context, s Stream, w load.Worker) error { return serve(ctx, s, w, maxQueued) }

// serve works like Serve. At most `limit` bytes wait to be sent.
func serve(ctx context.Context, s Stream, w load.Worker, limit int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := newSender(s, limit, func() {
		cancel()
		_ = s.Close() // otherwise the sender would wait while the other side receives nothing
	})
	defer func() { _ = out.close() }() // an earlier error is returned instead
	first, err := receive(s, nil)
	if err != nil {
		return err
	}
	if first.Assignment == nil {
		first.Assignment = &load.Assignment{}
	}
	if first.Call == prepare {
		return serveJob(ctx, cancel, s, out, w, first)
	}
	go func() {
		defer cancel()
		_, _ = s.Receive() // no message is expected; this call returns when the stream ends
	}()
	out.reply(execute(ctx, w, first, out.history))
	return out.close()
}

// receive passes each message to the function `taken`, and returns the first message for which
// `taken` returns false. If `taken` is nil, receive returns the first message. It returns an error
// if that message is a measure.Second.
func receive(s Stream, taken func([]byte) bool) (*message, error) {
	b, err := s.Receive()
	for err == nil && taken != nil && taken(b) {
		b, err = s.Receive()
	}
	if err != nil {
		return nil, err
	}
	if second, ok := cutSecond(b); ok {
		_, err := measure.ReadSecond(second)
		return nil, cmp.Or(err, errors.New("received a per-second report, although no such report is expected"))
	}
	return decode(b)
}

// execute executes a call that has a single reply.
func execute(ctx context.Context, w load.Worker, m *message, newRecorder load.RecorderFactory) *reply {
	a := &reply{}
	var err error
	switch m.Call {
	case clock:
		a.Clock, err = w.Clock(ctx)
	case check:
		a.Loops, err = w.Check(ctx, m.Assignment)
	case preload:
		a.Preloaded, err = w.Preload(ctx, m.Assignment)
	case writeVersions:
		if m.Assignment.Load.Watch == nil {
			err = errors.New("the load has no watchers that catch up with earlier writes")
			break
		}
		a.First, err = w.WriteVersions(ctx, m.Assignment)
	case readBack:
		if !m.History {
			newRecorder = nil
		}
		a.Found, err = w.ReadBack(ctx, m.Assignment, m.Level, newRecorder)
	default:
		err = fmt.Errorf("unknown call %q of a worker", m.Call)
	}
	if err != nil {
		return errorReply(err)
	}
	return a
}

// serveJob prepares a job, and executes the requests for the job until the stream ends.
func serveJob(ctx context.Context, cancel func(), s Stream, out *sender, w load.Worker, request *message) error {
	var to load.RecorderFactory
	if request.History {
		to = out.history
	}
	job, err := w.Prepare(ctx, request.Assignment, load.Reports{
		NewRecorder:     to,
		Second:          func(s *measure.Second) { out.enqueue(encodeSecond(s)) },
		SecondsOnly:     true,
		OnClusterChange: out.changed,
		OnPhaseChange:   func(m load.PhaseChange) { out.queueMessage(message{PhaseChange: &m}) },
	})
	if err != nil {
		out.reply(errorReply(err))
		return out.close()
	}
	defer job.Close()
	out.reply(&reply{})
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	loadCtx, stop := context.WithCancel(ctx)
	defer stop()
	started, connecting, connected := false, false, make(chan struct{})
	for {
		m, err := receive(s, nil)
		switch {
		case err != nil:
			return nil // the other side has received the ending, or no longer exists
		case m.Connect && !connecting:
			connecting = true
			running.Go(func() {
				defer close(connected)
				if err := job.Connect(loadCtx); err != nil {
					out.reply(errorReply(err))
					return
				}
				out.reply(&reply{})
			})
		case m.Run != nil && connecting && !started:
			started = true
			running.Go(func() {
				<-connected
				runJob(loadCtx, out, job, request.Assignment, *m.Run)
			})
		case m.Stop:
			stop()
		case m.Epoch > 0:
			job.Epoch(m.Epoch)
		case len(m.Retarget) > 0:
			job.Retarget(m.Retarget)
		}
	}
}

// runJob runs a job, and reports the job's progress and ending.
func runJob(ctx context.Context, out *sender, job load.Job, assignment *load.Assignment, begin time.Time) {
	until := reportProgress(out, job, assignment)
	res, err := job.Run(ctx, begin)
	until()
	if err != nil {
		out.reply(errorReply(err))
		return
	}
	out.queueMessage(message{Ending: encodeEnding(res.Ending)})
}

// reportProgress reports the progress of a job until the returned function is called.
func reportProgress(out *sender, job load.Job, assignment *load.Assignment) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		load.LowerPriorityInAgent(&assignment.Load)
		ticker := time.NewTicker(progressInterval(assignment.Shard.N))
		defer ticker.Stop()
		for {
			p := job.Progress()
			out.queueMessage(message{Progress: &p})
			select {
			case <-quit:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// maxQueued limits the number of bytes that wait to be sent. A load that continues while the other
// side receives nothing reaches this limit.
const maxQueued = 64 << 20

// sender sends messages in its own goroutine, so that the load does not wait for the stream.
type sender struct {
	stream Stream
	fail   func() // called when the stream accepts no more messages
	limit  int    // maximum value of queued

	loops atomic.Uint64 // number of event loops that have a history

	mu               sync.Mutex
	wake             *sync.Cond
	queue            [][]byte
	queued           int
	pendingChange    changed // reported by the load, but not sent yet
	hasPendingChange bool    // pendingChange contains a report
	closing          bool
	err              error
	ended            chan struct{}
}

func newSender(s Stream, limit int, fail func()) *sender {
	o := &sender{stream: s, fail: fail, limit: limit, ended: make(chan struct{})}
	o.wake = sync.NewCond(&o.mu)
	go o.run()
	return o
}

func (o *sender) run() {
	defer close(o.ended)
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.hasPendingChange && !o.closing {
			o.wake.Wait()
		}
		next := o.queue
		if o.hasPendingChange {
			c := o.pendingChange
			if b, err := encode(message{Changed: &c}); err == nil {
				next = append(next, b)
			}
			o.pendingChange, o.hasPendingChange = changed{}, false
		}
		o.queue, o.queued = nil, 0
		over := o.closing && len(next) == 0
		o.mu.Unlock()
		if over {
			return
		}
		for _, b := range next {
			if err := o.stream.Send(b); err != nil {
				o.failWith(err)
				return
			}
		}
	}
}

// failWith records an error. After that, the sender sends nothing.
func (o *sender) failWith(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
	}
	o.closing, o.queue, o.hasPendingChange = true, nil, false
	o.wake.Signal()
	o.mu.Unlock()
	o.fail()
}

// history implements load.Reports.NewRecorder. It sends each block when the block is full.
func (o *sender) history(zero time.Time, _ time.Duration) *history.Recorder {
	loop, block, begun := o.loops.Add(1)-1, history.NewBlock(), false
	return &history.Recorder{
		Take: func() *history.Block {
			// Announce the loop with an empty part before its first operation, so that the other
			// side notices if the operations are lost.
			if !begun {
				begun = true
				o.enqueue(encodeHistory(loop, zero, block))
			}
			return block
		},
		Deliver: func(b *history.Block) {
			o.enqueue(encodeHistory(loop, zero, b))
			b.Reset()
		},
	}
}

func (o *sender) enqueue(b []byte) {
	o.mu.Lock()
	full := o.queued+len(b) > o.limit && o.queued > 0
	if !o.closing && !full {
		o.queue, o.queued = append(o.queue, b), o.queued+len(b)
		o.wake.Signal()
	}
	o.mu.Unlock()
	if full {
		o.failWith(fmt.Errorf("more than %d bytes of the load's reports wait to be sent, because the other side does not receive them", o.limit))
	}
}

// queueMessage encodes a message and queues it for sending.
func (o *sender) queueMessage(m message) {
	b, err := encode(m)
	if err != nil {
		b, _ = encode(message{Reply: errorReply(err)})
	}
	o.enqueue(b)
}

// reply queues a reply. If the reply cannot be sent, it queues the reason instead.
func (o *sender) reply(a *reply) {
	b, err := encode(message{Reply: a})
	if err == nil && len(b) > MaxMessage {
		err = tooLong(uint64(len(b)))
	}
	if err != nil {
		b, _ = encode(message{Reply: errorReply(err)})
	}
	o.enqueue(b)
}

// changed is called by the load's event loops, so it must be quick. Therefore it encodes nothing.
// Several reports are combined into one message.
func (o *sender) changed(term uint64, lost bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pendingChange = changed{Term: max(o.pendingChange.Term, term), Lost: o.pendingChange.Lost || lost}
	o.hasPendingChange = true
	o.wake.Signal()
}

// close sends the queued messages and closes the stream. It may be called repeatedly.
func (o *sender) close() error {
	o.mu.Lock()
	o.closing = true
	o.wake.Signal()
	o.mu.Unlock()
	<-o.ended
	return errors.Join(o.err, o.stream.Close())
}
