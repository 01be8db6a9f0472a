package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	Transport         Transport // if not nil, opens the connection; Address is then used only in errors
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
	target            Target
	conn              *grpc.ClientConn
	host              *remoteHost
	token             string
	heartbeatInterval time.Duration // interval between heartbeats
	// opensConnections is set if the agent opens connections for us.
	opensConnections bool
	ctx              context.Context
	cancel           context.CancelCauseFunc // called with the reason why the agent was lost
	sessionStream    *stream                 // the session's stream
	heartbeatReplies chan heartbeat
	ended            chan struct{} // closed when the session's stream has ended
	endRequested     atomic.Bool   // set if we have asked the agent to end the session
	streamErr        error         // the error that ended the stream; written before the channel `ended` is closed

	stopHeartbeats context.CancelFunc // stops the heartbeats
	heartbeatLoop  sync.WaitGroup
	closeOnce      sync.Once

	mu             sync.Mutex
	heartbeatCount uint64
	offsets        Offsets
	replyTimes     [2]time.Time // times of the replies to the last two heartbeats, in order
}

// errClosed is the error of a closed Remote.
var errClosed = errors.New("the connection to the agent was closed")

// dialTimeout limits how long an agent may take to accept a controller.
const dialTimeout = 10 * time.Second

// Dial begins a session with an agent and measures how far the agent's clock is ahead. An agent has
// one session at a time. The error is one sentence with the name of the agent. The session
// continues until Close, even if ctx is canceled.
func Dial(ctx context.Context, t Target) (*Remote, error) {
	if t.Clock.Now == nil {
		t.Clock = ControllerClock()
	}
	t.Name = cmp.Or(t.Name, t.Address)
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	socket, err := connect(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", t.Name, t.closeTransport(err))
	}
	r := &Remote{target: t, heartbeatReplies: make(chan heartbeat, 1), ended: make(chan struct{})}
	r.host = &remoteHost{r}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	if err := r.openSession(ctx, socket); err != nil {
		r.cancel(errClosed)
		_ = socket.Close()
		if r.conn != nil {
			_ = r.conn.Close() // err is more important
		}
		return nil, fmt.Errorf("agent %s: %w", t.Name, t.closeTransport(err))
	}
	var beating context.Context
	beating, r.stopHeartbeats = context.WithCancel(r.ctx)
	r.heartbeatLoop.Go(func() { r.runHeartbeats(beating) })
	return r, nil
}

// openSession opens the session over the given connection. If the connection ends, gRPC cannot open
// a new one.
func (r *Remote) openSession(ctx context.Context, socket net.Conn) (err error) {
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
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)))
	if err != nil {
		return err
	}
	if r.sessionStream, err = r.open(sessionMethod); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, r.sessionStream.close)
	defer stop()
	if err := sendJSON(r.sessionStream, hello{Version: r.target.Version, Controller: describeController()}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	w, err := receiveJSON[welcome](r.sessionStream)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Cause(ctx)
	case ctx.Err() != nil:
		return fmt.Errorf("the agent did not respond within %v", dialTimeout)
	case err != nil:
		return err
	case w.Heartbeat < time.Millisecond || w.Heartbeat > time.Hour:
		return fmt.Errorf("the agent requested the invalid heartbeat interval %v", w.Heartbeat)
	}
	r.token, r.heartbeatInterval, r.opensConnections = w.Token, w.Heartbeat, w.OpensConnections
	go r.listen()
	if err := r.sendHeartbeats(ctx, initialExchanges); err != nil {
		return err
	}
	if !stop() {
		return fmt.Errorf("the agent did not respond within %v", dialTimeout)
	}
	return nil
}

// describeController returns the text with which an agent describes this controller to another
// controller.
func describeController() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown machine"
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), name)
}

// open opens a stream, which exists until it is closed or the session ends.
func (r *Remote) open(methodName string) (*stream, error) {
	ctx, cancel := context.WithCancel(r.ctx)
	if r.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, tokenKey, r.token)
	}
	desc := newStreamDesc(methodName, nil)
	out := &stream{close: cancel, endReason: func(err error) error {
		switch status.Code(err) {
		case codes.Unavailable, codes.Aborted, codes.Canceled:
			if ctx.Err() == nil && !r.endRequested.Load() { // we did not end the stream or the session
				r.recordLoss(errors.New(status.Convert(err).Message()))
			}
		}
		return r.lost()
	}}
	st, err := r.conn.NewStream(ctx, &desc, "/"+serviceName+"/"+methodName)
	if err != nil {
		cancel()
		return nil, out.simplifyError(err)
	}
	out.messageStream = st
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
func (r *Remote) recordLoss(reason error) {
	r.cancel(fmt.Errorf("agent %s at %s is lost: %w", r.target.Name, r.target.Address, reason))
}

// listen receives the replies to heartbeats until the session ends.
func (r *Remote) listen() {
	defer close(r.ended)
	for {
		b, err := receiveJSON[heartbeat](r.sessionStream)
		if err != nil {
			if r.streamErr = err; !r.endRequested.Load() {
				r.recordLoss(err)
			}
			return
		}
		select {
		case r.heartbeatReplies <- b:
		case <-r.ctx.Done():
			return
		}
	}
}

// sendHeartbeat sends a heartbeat and records the timestamps in its reply.
func (r *Remote) sendHeartbeat(ctx context.Context) error {
	r.mu.Lock()
	r.heartbeatCount++
	n := r.heartbeatCount
	r.mu.Unlock()
	silenceTimer := newSilence(r.target.Clock, r.heartbeatInterval)
	requestSent := r.target.Clock.Now()
	if err := sendJSON(r.sessionStream, heartbeat{Number: n}); err != nil {
		return err
	}
	for {
		select {
		case b := <-r.heartbeatReplies:
			if b.Number != n {
				continue // reply to an earlier heartbeat that was abandoned
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.replyTimes[0], r.replyTimes[1] = r.replyTimes[1], r.target.Clock.Now()
			r.offsets.Add(Exchange{RequestSent: requestSent, RequestReceived: b.RequestReceived, ReplySent: b.ReplySent, ReplyReceived: r.target.Clock.Now()})
			return nil
		case <-silenceTimer.tickEnded:
			if silenceTimer.lost() {
				return fmt.Errorf("the agent did not respond for %v", missedHeartbeats*r.heartbeatInterval)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.ended:
			return r.lost()
		}
	}
}

func (r *Remote) sendHeartbeats(ctx context.Context, n int) error {
	for range n {
		if err := r.sendHeartbeat(ctx); err != nil {
			return err
		}
	}
	return nil
}

// runHeartbeats sends heartbeats until ctx is canceled or the agent is lost.
func (r *Remote) runHeartbeats(ctx context.Context) {
	for {
		select {
		case <-r.target.Clock.After(r.heartbeatInterval):
		case <-ctx.Done():
			return
		}
		if err := r.sendHeartbeat(ctx); err != nil && ctx.Err() == nil {
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

// earliestSendTime returns the earliest time at which the agent may have sent the message that was
// just read. This is two heartbeat intervals ago: if messages took longer to arrive, the agent
// would be lost. If our process was suspended, the earliest time is that of the second-to-last
// reply to a heartbeat, because the last reply may have been read just before the message.
func (r *Remote) earliestSendTime() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now().Add(-missedHeartbeats * r.heartbeatInterval)
	if last := r.replyTimes[0]; !last.IsZero() && last.Before(at) {
		return last
	}
	return at
}

// toLocal converts a time on the agent's clock to our clock. The time is from a reply that has just
// arrived. requestSent is the time at which the reply was requested.
func (r *Remote) toLocal(remoteTime, requestSent time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.offsets.Convert(remoteTime, requestSent, r.now())
}

// Host returns the agent's machine.
func (r *Remote) Host() host.Host { return r.host }

// Worker returns a worker that generates load on the agent's machine.
func (r *Remote) Worker() load.Worker {
	open := func(context.Context) (remote.Stream, error) { return r.open(workMethod) }
	return r.wrapWorker(clockConverter{remote.New(open), r})
}

// closeTimeout limits how long an agent may take to stop everything that the session started.
const closeTimeout = 15 * time.Second

// Close ends the session and waits until the agent has stopped everything that the session started.
// It returns an error if the agent does not confirm this. It may be called more than once.
func (r *Remote) Close() (err error) {
	r.closeOnce.Do(func() {
		r.stopHeartbeats()
		r.heartbeatLoop.Wait()
		if err = r.lost(); err == nil {
			err = r.endSession()
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

// endSession compares the clocks one last time, ends the session, and waits until the agent has
// stopped everything that the session started.
func (r *Remote) endSession() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := r.sendHeartbeats(ctx, initialExchanges); err != nil {
		return r.describeError(err)
	}
	r.endRequested.Store(true)
	if err := r.sessionStream.messageStream.(grpc.ClientStream).CloseSend(); err != nil {
		return err
	}
	select {
	case <-r.ended:
		if !errors.Is(r.streamErr, io.EOF) {
			return r.describeError(r.streamErr)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("agent %s needed more than %v to stop everything that it had started", r.target.Name, closeTimeout)
	}
}
