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

// progressEvery is how often a worker says how far its load is, where
// there are few. Of many each says it as much less often as there are more.
const (
	progressEvery = 100 * time.Millisecond
	few           = 8
)

// progressOf is how often one of so many workers says it.
func progressOf(workers int) time.Duration {
	return max(progressEvery, progressEvery*time.Duration(workers)/few)
}

// Serve answers one call of a Worker, which w carries out, and closes the stream.
// When the other side closes it, what runs is stopped at once.
func Serve(ctx context.Context, s Stream, w load.Worker) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := newSender(s, func() {
		cancel()
		_ = s.Close() // a side that takes nothing would be waited for
	})
	defer func() { _ = out.close() }() // what was wrong before is the error
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
		_, _ = s.Receive() // nothing is to come: whatever ends it ends the call
	}()
	out.answer(carryOut(ctx, w, first, out.history))
	return out.close()
}

// receive returns the next message that taken does not take, if there is a taken, and
// refuses a second.
func receive(s Stream, taken func([]byte) bool) (*message, error) {
	b, err := s.Receive()
	for err == nil && taken != nil && taken(b) {
		b, err = s.Receive()
	}
	if err != nil {
		return nil, err
	}
	if second, ok := asSecond(b); ok {
		_, err := measure.ReadSecond(second)
		return nil, cmp.Or(err, errors.New("a second came where none is expected"))
	}
	return decode(b)
}

// carryOut does what one answer is to.
func carryOut(ctx context.Context, w load.Worker, m *message, told load.History) *answer {
	a := &answer{}
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
			err = errors.New("there are no watchers that are to catch up with anything")
			break
		}
		a.First, err = w.WriteVersions(ctx, m.Assignment)
	case readBack:
		if !m.History {
			told = nil
		}
		a.Found, err = w.ReadBack(ctx, m.Assignment, m.Level, told)
	default:
		err = fmt.Errorf("%q is nothing that a worker can be asked for", m.Call)
	}
	if err != nil {
		return errorOf(err)
	}
	return a
}

// serveJob prepares a job and does with it what is asked for until it has ended.
func serveJob(ctx context.Context, cancel func(), s Stream, out *sender, w load.Worker, asked *message) error {
	var told load.History
	if asked.History {
		told = out.history
	}
	job, err := w.Prepare(ctx, asked.Assignment, load.Reports{
		History:     told,
		Second:      func(s *measure.Second) { out.put(encodeSecond(s)) },
		SecondsOnly: true,
		Changed:     out.changed,
		Mark:        func(m load.Mark) { out.say(message{Mark: &m}) },
	})
	if err != nil {
		out.answer(errorOf(err))
		return out.close()
	}
	defer job.Close()
	out.answer(&answer{})
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	loadCtx, stop := context.WithCancel(ctx)
	defer stop()
	begun, connecting, connected := false, false, make(chan struct{})
	for {
		m, err := receive(s, nil)
		switch {
		case err != nil:
			return nil // the other side has what it wanted, or is gone
		case m.Connect && !connecting:
			connecting = true
			running.Go(func() {
				defer close(connected)
				if err := job.Connect(loadCtx); err != nil {
					out.answer(errorOf(err))
					return
				}
				out.answer(&answer{})
			})
		case m.Run != nil && connecting && !begun:
			begun = true
			running.Go(func() {
				<-connected
				runJob(loadCtx, out, job, asked.Assignment, *m.Run)
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

// runJob runs a job, and says how far it is and how it ended.
func runJob(ctx context.Context, out *sender, job load.Job, of *load.Assignment, begin time.Time) {
	until := progress(out, job, of)
	res, err := job.Run(ctx, begin)
	until()
	if err != nil {
		out.answer(errorOf(err))
		return
	}
	out.say(message{Ending: endingOf(res.Ending)})
}

// progress says how far a job is until the returned function is called.
func progress(out *sender, job load.Job, of *load.Assignment) (until func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		load.Attend(&of.Load)
		ticker := time.NewTicker(progressOf(of.Shard.N))
		defer ticker.Stop()
		for {
			p := job.Progress()
			out.say(message{Progress: &p})
			select {
			case <-quit:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// mostQueued bounds what waits to be sent, in bytes: of a load that goes on while
// the other side takes nothing.
const mostQueued = 64 << 20

// sender sends in its own goroutine, so that nobody who reports waits.
type sender struct {
	stream Stream
	fail   func() // what to do when nothing can be sent any more

	loops atomic.Uint64 // whose histories are sent

	mu      sync.Mutex
	wake    *sync.Cond
	queue   [][]byte
	queued  int
	lost    changed // reported, and not sent yet
	hasLost bool    // lost has something
	done    bool
	err     error
	ended   chan struct{}
}

func newSender(s Stream, fail func()) *sender {
	o := &sender{stream: s, fail: fail, ended: make(chan struct{})}
	o.wake = sync.NewCond(&o.mu)
	go o.run()
	return o
}

func (o *sender) run() {
	defer close(o.ended)
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.hasLost && !o.done {
			o.wake.Wait()
		}
		next := o.queue
		if o.hasLost {
			c := o.lost
			if b, err := encode(message{Changed: &c}); err == nil {
				next = append(next, b)
			}
			o.lost, o.hasLost = changed{}, false
		}
		o.queue, o.queued = nil, 0
		over := o.done && len(next) == 0
		o.mu.Unlock()
		if over {
			return
		}
		for _, b := range next {
			if err := o.stream.Send(b); err != nil {
				o.broken(err)
				return
			}
		}
	}
}

// broken says that nothing can be sent any more.
func (o *sender) broken(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
	}
	o.done, o.queue, o.hasLost = true, nil, false
	o.wake.Signal()
	o.mu.Unlock()
	o.fail()
}

// history is load.Reports.History: each block is sent when it is full.
func (o *sender) history(zero time.Time, _ time.Duration) *history.Recorder {
	loop, block, begun := o.loops.Add(1)-1, history.NewBlock(), false
	return &history.Recorder{
		Take: func() *history.Block {
			if !begun { // a loop is known from its first operation on, so that it is missed if it is lost
				begun = true
				o.put(encodeHistory(loop, zero, block))
			}
			return block
		},
		Hand: func(b *history.Block) {
			o.put(encodeHistory(loop, zero, b))
			b.Reset()
		},
	}
}

func (o *sender) put(b []byte) {
	o.mu.Lock()
	full := o.queued+len(b) > mostQueued && o.queued > 0
	if !o.done && !full {
		o.queue, o.queued = append(o.queue, b), o.queued+len(b)
		o.wake.Signal()
	}
	o.mu.Unlock()
	if full {
		o.broken(fmt.Errorf("%d bytes of what a load reports wait to be taken", mostQueued))
	}
}

// say sends a message.
func (o *sender) say(m message) {
	b, err := encode(m)
	if err != nil {
		b, _ = encode(message{Answer: errorOf(err)})
	}
	o.put(b)
}

// answer sends an answer, or why it cannot be sent.
func (o *sender) answer(a *answer) {
	b, err := encode(message{Answer: a})
	if err == nil && len(b) > MostBytes {
		err = tooLong(uint64(len(b)))
	}
	if err != nil {
		b, _ = encode(message{Answer: errorOf(err)})
	}
	o.put(b)
}

// changed is called from the load's loops, and so it encodes nothing: several
// reports are one.
func (o *sender) changed(term uint64, lost bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = changed{Term: max(o.lost.Term, term), Lost: o.lost.Lost || lost}
	o.hasLost = true
	o.wake.Signal()
}

// close sends what waits, and closes the stream. It can be called again.
func (o *sender) close() error {
	o.mu.Lock()
	o.done = true
	o.wake.Signal()
	o.mu.Unlock()
	<-o.ended
	return errors.Join(o.err, o.stream.Close())
}
