package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/remote"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

// Target is an agent to be reached.
type Target struct {
	Name    string // as errors and reports call it
	Address string // HOST:PORT, or unix:PATH
	// Files in PEM: the authority that signed the agent's certificate, and the
	// controller's own certificate and key. None for a Unix socket.
	CACert, Cert, Key string
	Version           string // of this program; the agent's is the same
	Clock             Clock  // the zero value is Steady's
	Way               Way    // instead of Address, which errors name; nil for none
}

// Way leads to an agent through something else than a network address.
type Way interface {
	// Dial opens a connection to the agent; nobody else can hear what it carries, or
	// has the other end.
	Dial(context.Context) (net.Conn, error)
	// Close is called when the session has ended, or could not begin.
	Close() error
}

// Remote is an agent's machine. Its methods may be called from several goroutines.
type Remote struct {
	target Target
	conn   *grpc.ClientConn
	host   *remoteHost
	token  string
	every  time.Duration // heartbeats
	// reaches says that the agent opens connections for us.
	reaches bool
	ctx     context.Context
	cancel  context.CancelCauseFunc // with why it was lost
	line    *stream                 // the session's
	heard   chan beat
	ended   chan struct{} // the session's stream has ended
	bye     atomic.Bool   // that is what we asked for
	left    error         // how it ended; written before ended is closed

	quit    context.CancelFunc // of the heartbeats
	beating sync.WaitGroup
	closing sync.Once

	mu       sync.Mutex
	beats    uint64
	offsets  Offsets
	answered [2]time.Time // when the last two heartbeats were answered, the last one last
}

// errClosed is what a Remote that was closed says.
var errClosed = errors.New("the connection to the agent was closed")

// dialWithin bounds how long an agent may take to take a controller.
const dialWithin = 10 * time.Second

// Dial begins a session with an agent, which has one at a time, and measures how
// far its clock is ahead. The error is one sentence that names the agent. The
// session lives until Close, whatever becomes of ctx.
func Dial(ctx context.Context, t Target) (*Remote, error) {
	if t.Clock.Now == nil {
		t.Clock = Steady()
	}
	t.Name = cmp.Or(t.Name, t.Address)
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	socket, err := connect(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", t.Name, t.away(err))
	}
	r := &Remote{target: t, heard: make(chan beat, 1), ended: make(chan struct{})}
	r.host = &remoteHost{r}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	if err := r.begin(ctx, socket); err != nil {
		r.cancel(errClosed)
		_ = socket.Close()
		if r.conn != nil {
			_ = r.conn.Close() // the error that matters is that one
		}
		return nil, fmt.Errorf("agent %s: %w", t.Name, t.away(err))
	}
	var beating context.Context
	beating, r.quit = context.WithCancel(r.ctx)
	r.beating.Go(func() { r.beat(beating) })
	return r, nil
}

// begin opens the session over a connection, the only one there is.
func (r *Remote) begin(ctx context.Context, socket net.Conn) (err error) {
	once := make(chan net.Conn, 1)
	once <- socket
	dial := func(context.Context, string) (net.Conn, error) {
		select {
		case c := <-once:
			return c, nil
		default:
			return nil, errors.New("its connection ended")
		}
	}
	r.conn, err = grpc.NewClient("passthrough:///agent", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithNoProxy(),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connWindow),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostBytes), grpc.MaxCallSendMsgSize(mostBytes)))
	if err != nil {
		return err
	}
	if r.line, err = r.open(sessionMethod); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, r.line.close)
	defer stop()
	if err := sendJSON(r.line, hello{Version: r.target.Version, Controller: self()}); err != nil && !errors.Is(err, errEOF) {
		return err
	}
	w, err := receiveJSON[welcome](r.line)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Cause(ctx)
	case ctx.Err() != nil:
		return fmt.Errorf("it does not answer within %v", dialWithin)
	case err != nil:
		return err
	case w.Heartbeat < time.Millisecond || w.Heartbeat > time.Hour:
		return fmt.Errorf("it wants a heartbeat every %v, which cannot be", w.Heartbeat)
	}
	r.token, r.every, r.reaches = w.Token, w.Heartbeat, w.Reaches
	go r.listen()
	if err := r.exchanges(ctx, begins); err != nil {
		return err
	}
	if !stop() {
		return fmt.Errorf("it does not answer within %v", dialWithin)
	}
	return nil
}

// self is how an agent calls this controller to another one.
func self() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown machine"
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), name)
}

// open opens a stream, which lives as long as the session unless it is closed.
func (r *Remote) open(of string) (*stream, error) {
	ctx, cancel := context.WithCancel(r.ctx)
	if r.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, tokenKey, r.token)
	}
	desc := method(of, nil)
	out := &stream{close: cancel, why: func(err error) error {
		switch status.Code(err) {
		case codes.Unavailable, codes.Aborted, codes.Canceled:
			if ctx.Err() == nil && !r.bye.Load() { // and not because we ended it
				r.gone(errors.New(status.Convert(err).Message()))
			}
		}
		return r.lost()
	}}
	st, err := r.conn.NewStream(ctx, &desc, "/"+serviceName+"/"+of)
	if err != nil {
		cancel()
		return nil, out.plain(err)
	}
	out.ends = st
	return out, nil
}

// lost is why nothing more comes from the agent; nil while it is there.
func (r *Remote) lost() error {
	if r.ctx.Err() == nil {
		return nil
	}
	return context.Cause(r.ctx)
}

// gone says why the agent is lost, once.
func (r *Remote) gone(why error) {
	r.cancel(fmt.Errorf("agent %s at %s is lost: %w", r.target.Name, r.target.Address, why))
}

// listen takes the answers to heartbeats until the session ends.
func (r *Remote) listen() {
	defer close(r.ended)
	for {
		b, err := receiveJSON[beat](r.line)
		if err != nil {
			if r.left = err; !r.bye.Load() {
				r.gone(err)
			}
			return
		}
		select {
		case r.heard <- b:
		case <-r.ctx.Done():
			return
		}
	}
}

// exchange asks for the time, and notes the answer.
func (r *Remote) exchange(ctx context.Context) error {
	r.mu.Lock()
	r.beats++
	n := r.beats
	r.mu.Unlock()
	quiet := newSilence(r.target.Clock, r.every)
	asked := r.target.Clock.Now()
	if err := sendJSON(r.line, beat{N: n}); err != nil {
		return err
	}
	for {
		select {
		case b := <-r.heard:
			if b.N != n {
				continue // of one that was given up
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.answered[0], r.answered[1] = r.answered[1], r.target.Clock.Now()
			r.offsets.Add(Exchange{Asked: asked, Received: b.Received, Answered: b.Answered, Heard: r.target.Clock.Now()})
			return nil
		case <-quiet.over:
			if quiet.lost() {
				return fmt.Errorf("it did not answer for %v", missed*r.every)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.ended:
			return r.lost()
		}
	}
}

func (r *Remote) exchanges(ctx context.Context, n int) error {
	for range n {
		if err := r.exchange(ctx); err != nil {
			return err
		}
	}
	return nil
}

// beat shows the agent that we are here, until ctx ends or the agent is lost.
func (r *Remote) beat(ctx context.Context) {
	for {
		select {
		case <-r.target.Clock.After(r.every):
		case <-ctx.Done():
			return
		}
		if err := r.exchange(ctx); err != nil && ctx.Err() == nil {
			r.gone(err)
			return
		}
	}
}

// Name is how the target was called.
func (r *Remote) Name() string { return r.target.Name }

// Offset is how far the agent's clock is ahead of ours, as measured last: before
// the session was used, with every heartbeat, and when it was closed. What the
// agent's host and worker say is in our time already.
func (r *Remote) Offset() host.Clock {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.offsets.At(r.now())
}

func (r *Remote) now() time.Time { return r.target.Clock.Now() }

// unheard is from when on what is read now may have been said: two heartbeats ago, or,
// where we stood still ourselves, since the last one but one that was answered: the
// last may have been read just before.
func (r *Remote) unheard() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now().Add(-missed * r.every)
	if last := r.answered[0]; !last.IsZero() && last.Before(at) {
		return last
	}
	return at
}

// ours is a time of the agent's by our clock, of an answer that was asked for at a
// time and has just come.
func (r *Remote) ours(theirs, asked time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.offsets.Ours(theirs, asked, r.now())
}

// Host is the agent's machine.
func (r *Remote) Host() host.Host { return r.host }

// Worker generates load on the agent's machine.
func (r *Remote) Worker() load.Worker {
	open := func(context.Context) (remote.Stream, error) { return r.open(workMethod) }
	return r.carry(shifted{remote.New(open), r})
}

// closeWithin bounds how long an agent may take to end what it started.
const closeWithin = 15 * time.Second

// Close ends the session, and returns when the agent has ended what was started in
// it. The error says why that is not known. It can be called again.
func (r *Remote) Close() (err error) {
	r.closing.Do(func() {
		r.quit()
		r.beating.Wait()
		if err = r.lost(); err == nil {
			err = r.leave()
		}
		r.cancel(errClosed)
		err = r.target.away(errors.Join(err, r.conn.Close()))
	})
	return err
}

// away closes the way to the agent. What failed before says more than what fails
// then.
func (t *Target) away(err error) error {
	if t.Way == nil {
		return err
	}
	return cmp.Or(err, t.Way.Close())
}

// leave measures the clock once more, and waits until the agent has ended all.
func (r *Remote) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := r.exchanges(ctx, begins); err != nil {
		return r.fail(err)
	}
	r.bye.Store(true)
	if err := r.line.ends.(grpc.ClientStream).CloseSend(); err != nil {
		return err
	}
	select {
	case <-r.ended:
		if !errors.Is(r.left, errEOF) {
			return r.fail(r.left)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("agent %s did not end what it had started within %v", r.target.Name, closeWithin)
	}
}
