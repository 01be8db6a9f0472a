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

// Target is an agent to connect to.
type Target struct {
	Name    string // used in errors and reports
	Address string // HOST:PORT, or unix:PATH
	// Paths of PEM files: the certificate of the authority that signed the agent's certificate, and
	// the controller's certificate and key. They are empty for a Unix socket.
	CACert, Cert, Key string
	Version           string    // version of quorumbench, which must equal the agent's version
	Clock             Clock     // the zero value means ControllerClock
	Transport         Transport // if not nil, opens the connection instead of Address; errors still contain Address
}

// Transport opens a connection to an agent without using a network address.
type Transport interface {
	// Dial opens a connection to the agent. No other program may be able to read the connection or
	// to impersonate the agent.
	Dial(context.Context) (net.Conn, error)
	// Close is called after the session, or if no session could be started.
	Close() error
}

// Remote is a session with an agent. Its methods are safe for concurrent use.
type Remote struct {
	target Target
	conn   *grpc.ClientConn
	host   *remoteHost
	token  string
	every  time.Duration // interval between heartbeats
	// reaches is set if the agent opens connections for us.
	reaches bool
	ctx     context.Context
	cancel  context.CancelCauseFunc // called with the reason why the agent was lost
	line    *stream                 // the session's stream
	heard   chan beat
	ended   chan struct{} // closed when the session's stream has ended
	bye     atomic.Bool   // set if we have asked the agent to end the session
	left    error         // the error that ended the stream; written before ended is closed

	quit    context.CancelFunc // stops the heartbeats
	beating sync.WaitGroup
	closing sync.Once

	mu       sync.Mutex
	beats    uint64
	offsets  Offsets
	answered [2]time.Time // times of the replies to the last two heartbeats, in order
}

// errClosed is the error of a closed Remote.
var errClosed = errors.New("the connection to the agent was closed")

// dialWithin limits how long an agent may take to accept a controller.
const dialWithin = 10 * time.Second

// Dial begins a session with an agent and measures how far the agent's clock is ahead. An agent has
// one session at a time. The error is one sentence with the name of the agent. The session
// continues until Close, even if ctx is canceled.
func Dial(ctx context.Context, t Target) (*Remote, error) {
	if t.Clock.Now == nil {
		t.Clock = ControllerClock()
	}
	t.Name = cmp.Or(t.Name, t.Address)
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	socket, err := connect(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", t.Name, t.closeTransport(err))
	}
	r := &Remote{target: t, heard: make(chan beat, 1), ended: make(chan struct{})}
	r.host = &remoteHost{r}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	if err := r.begin(ctx, socket); err != nil {
		r.cancel(errClosed)
		_ = socket.Close()
		if r.conn != nil {
			_ = r.conn.Close() // err is more important
		}
		return nil, fmt.Errorf("agent %s: %w", t.Name, t.closeTransport(err))
	}
	var beating context.Context
	beating, r.quit = context.WithCancel(r.ctx)
	r.beating.Go(func() { r.beat(beating) })
	return r, nil
}

// begin opens the session over the given connection. If the connection ends, gRPC cannot open a new
// one.
func (r *Remote) begin(ctx context.Context, socket net.Conn) (err error) {
	once := make(chan net.Conn, 1)
	once <- socket
	dial := func(context.Context, string) (net.Conn, error) {
		select {
		case c := <-once:
			return c, nil
		default:
			return nil, errors.New("the connection to the agent has ended")
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
		return fmt.Errorf("the agent did not respond within %v", dialWithin)
	case err != nil:
		return err
	case w.Heartbeat < time.Millisecond || w.Heartbeat > time.Hour:
		return fmt.Errorf("the agent requested the invalid heartbeat interval %v", w.Heartbeat)
	}
	r.token, r.every, r.reaches = w.Token, w.Heartbeat, w.Reaches
	go r.listen()
	if err := r.exchanges(ctx, begins); err != nil {
		return err
	}
	if !stop() {
		return fmt.Errorf("the agent did not respond within %v", dialWithin)
	}
	return nil
}

// self returns the text with which an agent describes this controller to another controller.
func self() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown machine"
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), name)
}

// open opens a stream, which exists until it is closed or the session ends.
func (r *Remote) open(of string) (*stream, error) {
	ctx, cancel := context.WithCancel(r.ctx)
	if r.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, tokenKey, r.token)
	}
	desc := method(of, nil)
	out := &stream{close: cancel, why: func(err error) error {
		switch status.Code(err) {
		case codes.Unavailable, codes.Aborted, codes.Canceled:
			if ctx.Err() == nil && !r.bye.Load() { // we did not end the stream or the session
				r.recordLoss(errors.New(status.Convert(err).Message()))
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

// lost returns the reason why the agent is lost, or nil while it is connected.
func (r *Remote) lost() error {
	if r.ctx.Err() == nil {
		return nil
	}
	return context.Cause(r.ctx)
}

// recordLoss records the reason why the agent is lost. Only the first call has an effect.
func (r *Remote) recordLoss(why error) {
	r.cancel(fmt.Errorf("agent %s at %s is lost: %w", r.target.Name, r.target.Address, why))
}

// listen receives the replies to heartbeats until the session ends.
func (r *Remote) listen() {
	defer close(r.ended)
	for {
		b, err := receiveJSON[beat](r.line)
		if err != nil {
			if r.left = err; !r.bye.Load() {
				r.recordLoss(err)
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

// exchange sends a heartbeat and records the timestamps in its reply.
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
				continue // reply to an earlier heartbeat that was abandoned
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.answered[0], r.answered[1] = r.answered[1], r.target.Clock.Now()
			r.offsets.Add(Exchange{Asked: asked, Received: b.Received, Answered: b.Answered, Heard: r.target.Clock.Now()})
			return nil
		case <-quiet.over:
			if quiet.lost() {
				return fmt.Errorf("the agent did not respond for %v", missed*r.every)
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

// beat sends heartbeats until ctx is canceled or the agent is lost.
func (r *Remote) beat(ctx context.Context) {
	for {
		select {
		case <-r.target.Clock.After(r.every):
		case <-ctx.Done():
			return
		}
		if err := r.exchange(ctx); err != nil && ctx.Err() == nil {
			r.recordLoss(err)
			return
		}
	}
}

// Name returns the target's name.
func (r *Remote) Name() string { return r.target.Name }

// Offset returns the latest estimate of how far the agent's clock is ahead of this process's clock.
// The clocks are compared before the session is first used, with each heartbeat, and when the
// session is closed. Times from the agent's host and worker are already converted to our clock.
func (r *Remote) Offset() host.Clock {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.offsets.Estimate(r.now())
}

func (r *Remote) now() time.Time { return r.target.Clock.Now() }

// unheard returns the earliest time at which the agent may have sent the message that was just
// read. This is two heartbeat intervals ago, because the agent would otherwise be lost. If our
// process was suspended, it is the time of the second-to-last reply to a heartbeat: the last reply
// may have been read just before the message.
func (r *Remote) unheard() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now().Add(-missed * r.every)
	if last := r.answered[0]; !last.IsZero() && last.Before(at) {
		return last
	}
	return at
}

// toLocal converts a time on the agent's clock to our clock. The time is from a reply that has just
// arrived. asked is the time at which the reply was requested.
func (r *Remote) toLocal(theirs, asked time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.offsets.Convert(theirs, asked, r.now())
}

// Host returns the agent's machine.
func (r *Remote) Host() host.Host { return r.host }

// Worker returns a worker that generates load on the agent's machine.
func (r *Remote) Worker() load.Worker {
	open := func(context.Context) (remote.Stream, error) { return r.open(workMethod) }
	return r.carry(shifted{remote.New(open), r})
}

// closeWithin limits how long an agent may take to stop everything that the session started.
const closeWithin = 15 * time.Second

// Close ends the session and waits until the agent has stopped everything that the session started.
// It returns an error if the agent does not confirm this. It may be called more than once.
func (r *Remote) Close() (err error) {
	r.closing.Do(func() {
		r.quit()
		r.beating.Wait()
		if err = r.lost(); err == nil {
			err = r.leave()
		}
		r.cancel(errClosed)
		err = r.target.closeTransport(errors.Join(err, r.conn.Close()))
	})
	return err
}

// closeTransport closes the target's Transport. It returns err, or the error from closing if err is
// nil.
func (t *Target) closeTransport(err error) error {
	if t.Transport == nil {
		return err
	}
	return cmp.Or(err, t.Transport.Close())
}

// leave compares the clocks one last time, ends the session, and waits until the agent has stopped
// everything that the session started.
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
		return fmt.Errorf("agent %s did not stop everything that it had started within %v", r.target.Name, closeWithin)
	}
}
