package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/remote"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Options configure an agent.
type Options struct {
	Folder  string // contains all files that the agent writes
	Address string // the machine's IP address on which servers listen; if empty, they listen on the loopback interface
	Version string // version of quorumbench, which must equal a controller's version
	Self    string // path of the quorumbench binary, for embedded servers
	// Execs contains the absolute paths of server binaries that a run may request by path. The
	// agent rejects all other paths.
	Execs  []string
	Stores func(name string) (store.Store, error)
	Worker load.Worker // nil for a worker in this process
	// AllowConnections lets the agent open connections for its controller, to any address that this
	// machine can reach.
	AllowConnections bool
	TLS              *tls.Config // from ServerTLS; nil for a Unix socket
	// Heartbeat is the interval between a controller's heartbeats. When two heartbeats are missing,
	// the agent stops the controller's load. After the additional time Lease, it kills the
	// controller's servers. Zero values mean 1 s and 10 s.
	Heartbeat, Lease time.Duration
	// SingleSession makes the agent exit after its first session. If the controller is lost, the
	// session ends when the lease expires. The agent also exits if no controller connects within
	// FirstSessionTimeout.
	SingleSession bool
	Clock         Clock                            // the zero value means SystemClock
	Logf          func(format string, args ...any) // reports events; may be nil
}

// Default values of Options.
const (
	DefaultHeartbeat    = time.Second
	DefaultLease        = 10 * time.Second
	FirstSessionTimeout = time.Minute
)

// stopTimeout limits how long clients may take to receive the last messages on their streams.
const stopTimeout = 5 * time.Second

// Server is an agent.
type Server struct {
	options Options
	host    host.Host
	worker  load.Worker
	folder  folder
	files   *host.Folder // the same folder, held open
	// maxKeptBytes is the maximum size in bytes of a lost session's data, and of the logs of all
	// sessions.
	maxKeptBytes int64
	launch       func(c host.Command, marks map[string]string) (host.Command, map[string][]byte, error)
	// checkLaunch returns nil if a cluster can be started here, and otherwise the reason.
	checkLaunch func(hostLaunch *host.Launch) error
	launcher    *launcher

	mu       sync.Mutex
	current  *session
	lostData *lostData      // data of the last controller that was lost; may be nil
	closing  bool           // set if no further session may begin
	allEnded chan struct{}  // closed when the last session has ended
	running  sync.WaitGroup // sessions that have not ended
}

// New returns an agent and creates its folder.
func New(o Options) (*Server, error) {
	o.Heartbeat, o.Lease = cmp.Or(o.Heartbeat, DefaultHeartbeat), cmp.Or(o.Lease, DefaultLease)
	worker := o.Worker
	if worker == nil {
		// The worker uses time.Now, which jumps when the system's clock is set. The same clock is
		// compared with the controller's clock.
		worker = &load.Local{Stores: o.Stores, Access: load.CarriedAccess, InAgent: true, Now: time.Now}
	}
	if o.Clock.Now == nil {
		o.Clock = SystemClock()
	} else {
		worker = clockConverter{worker, testClock(o.Clock.Now)}
	}
	var logMutex sync.Mutex
	logf := o.Logf
	o.Logf = func(format string, args ...any) {
		logMutex.Lock()
		defer logMutex.Unlock()
		if logf != nil {
			logf(format, args...)
		}
	}
	path, err := filepath.Abs(o.Folder)
	if err == nil {
		_, err = host.CreateFolders(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use the agent's folder %s: %w", o.Folder, host.Cause(err))
	}
	opened, err := host.OpenFolder(path)
	if err != nil {
		return nil, fmt.Errorf("cannot use the agent's folder %s: %w", path, host.Cause(err))
	}
	if err := opened.CheckOwner(); err != nil {
		return nil, err
	}
	if err := rejectForeignEntries(opened); err != nil {
		return nil, err
	}
	local := host.NewLocal(o.Clock.Now, nil).WithFolder(opened)
	if o.Address != "" {
		local = local.WithAddress(o.Address)
	}
	s := &Server{options: o, host: local, folder: folder(path), files: opened, maxKeptBytes: maxKeptBytes, worker: newValidatingWorker(worker, o.Stores), allEnded: make(chan struct{})}
	l := &launcher{stores: o.Stores, self: o.Self, folder: s.folder, execs: o.Execs}
	s.launch, s.checkLaunch, s.launcher = l.command, l.checkLaunch, l
	return s, s.removeAbandonedFolders()
}

// StopAfterSession makes Serve return when the current session, if any, has ended. If the
// controller is lost, the session ends when the lease expires. StopAfterSession may be called more
// than once.
func (s *Server) StopAfterSession() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.closing = true
		s.signalIfEnded()
	}
}

// signalIfEnded closes the channel allEnded if the last session has ended. The caller must hold mu.
func (s *Server) signalIfEnded() {
	if s.closing && s.current == nil {
		close(s.allEnded)
	}
}

// Serve serves until ctx is canceled or StopAfterSession takes effect. When it returns, everything
// that sessions started has been stopped.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes), grpc.MaxSendMsgSize(maxMessageBytes), grpc.MaxConcurrentStreams(1024),
		grpc.MaxHeaderListSize(16 << 10), grpc.ConnectionTimeout(10 * time.Second),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connWindow),
	}
	if s.options.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.options.TLS)))
	}
	g := grpc.NewServer(options...)
	sessions, stopSessions := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopSessions(errStopped)
	streams := []grpc.StreamDesc{
		newStreamDesc(sessionMethod, func(_ any, st grpc.ServerStream) error { return s.serveSession(sessions, st) }),
		newStreamDesc(hostMethod, func(_ any, st grpc.ServerStream) error { return s.serveStream(st, s.serveHost) }),
		newStreamDesc(workMethod, func(_ any, st grpc.ServerStream) error { return s.serveStream(st, s.serveWork) }),
		newStreamDesc(reachMethod, func(_ any, st grpc.ServerStream) error { return s.serveStream(st, s.serveReach) }),
	}
	g.RegisterService(&grpc.ServiceDesc{ServiceName: serviceName, HandlerType: (*any)(nil), Streams: streams}, s)
	stop := context.AfterFunc(ctx, func() {
		stopSessions(errStopped)
		s.running.Wait()
		stopServing(g)
	})
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go s.awaitEnd(g, ended)
	err := g.Serve(l)
	s.running.Wait()
	if ctx.Err() != nil || errors.Is(err, grpc.ErrServerStopped) { // g may have been stopped before Serve was called
		return nil
	}
	return err
}

// awaitEnd stops serving when the last session has ended and its controller has received the last
// message.
func (s *Server) awaitEnd(g *grpc.Server, ended <-chan struct{}) {
	if s.options.SingleSession {
		select {
		case <-s.options.Clock.After(FirstSessionTimeout):
			s.StopAfterSession() // has no effect if a controller has connected
		case <-s.allEnded:
		case <-ended:
			return
		}
	}
	select {
	case <-s.allEnded:
	case <-ended:
		return
	}
	stopServing(g)
}

// stopServing stops a server when its clients have received the last messages on their streams.
func stopServing(g *grpc.Server) {
	limit := time.AfterFunc(stopTimeout, g.Stop)
	defer limit.Stop()
	g.GracefulStop()
}

// errStopped reports that the agent was stopped, for example by a signal.
var errStopped = errors.New("the agent was stopped")

// serveSession serves one controller's session. When ctx is canceled, the session ends with ctx's
// cause.
func (s *Server) serveSession(ctx context.Context, st grpc.ServerStream) error {
	sessionStream := &stream{messageStream: st, close: func() {}}
	first, err := receiveJSON[hello](sessionStream)
	if err != nil {
		return err
	}
	if first.Version != s.options.Version {
		return status.Errorf(codes.FailedPrecondition, "the agent runs quorumbench %s, but the controller runs %s; use the same version on all machines",
			s.options.Version, text.Line(first.Version, 100))
	}
	current, err := s.beginSession(ctx, text.Line(first.Controller, 200))
	if err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	s.options.Logf("controller %s has connected", current.controller)
	beats, ended := make(chan heartbeat), make(chan error, 1)
	go func() {
		for {
			b, err := receiveJSON[heartbeat](sessionStream)
			if err != nil {
				ended <- err
				return
			}
			b.RequestReceived = s.options.Clock.Now()
			select {
			case beats <- b:
			case <-st.Context().Done():
			}
		}
	}()
	err = sendJSON(sessionStream, welcome{Token: current.token, Heartbeat: s.options.Heartbeat, OpensConnections: s.options.AllowConnections})
	if err == nil {
		err = current.answerHeartbeats(beats, ended, func(b heartbeat) error { return sendJSON(sessionStream, b) }, s.options.Heartbeat, s.options.Clock)
	}
	return s.endSession(ctx, current, err)
}

// beginSession begins a session. It returns an error if another session exists or the agent is
// stopping.
func (s *Server) beginSession(ctx context.Context, controller string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return nil, errors.New("the agent is stopping")
	}
	switch {
	case s.current != nil:
		return nil, s.current.busy()
	case s.closing:
		return nil, errors.New("the agent is stopping")
	}
	s.closing = s.options.SingleSession
	s.dropLostData("")
	s.current = newSession(ctx, controller, s.options.Clock.Now())
	s.current.files.choosePath(s.files, s.current.beganAt)
	s.running.Add(1)
	return s.current, nil
}

// endSession ends a session. It stops the load immediately. It also stops the servers immediately
// if the controller requested the end of the session or if the agent is stopping. Otherwise it
// stops them when the lease expires.
func (s *Server) endSession(ctx context.Context, current *session, reason error) error {
	current.endStreams(fmt.Errorf("the agent ended the session: %w", reason))
	finish := func() {
		defer s.running.Done()
		current.streams.Wait()
		stillRunning := current.end()
		if stillRunning == 0 {
			s.options.Logf("controller %s has disconnected and all its processes have exited; its logs are in %s", current.controller, current.files.path)
		} else {
			s.options.Logf("controller %s: stopped %d servers; their data and logs are in %s", current.controller, stillRunning, current.files.path)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keepUnreleasedData(ctx, current)
		s.current = nil
		s.signalIfEnded()
	}
	switch {
	case errors.Is(reason, errBye):
		finish()
		return nil
	case ctx.Err() != nil:
		finish()
		return status.Error(codes.Aborted, context.Cause(ctx).Error())
	}
	current.recordLoss(s.options.Clock.Now().Add(s.options.Lease))
	s.options.Logf("controller %s is lost (%v): its load is stopped now, and its servers will be stopped in %v", current.controller, reason, s.options.Lease)
	go func() {
		select {
		case <-s.options.Clock.After(s.options.Lease):
		case <-ctx.Done():
		}
		finish()
	}()
	return status.Errorf(codes.Aborted, "the agent ended the session: %v", reason)
}

// serveStream serves a stream of the current session. It returns when the stream or the session has
// ended, or when the stream was closed.
func (s *Server) serveStream(st grpc.ServerStream, serve func(context.Context, *session, *stream) error) error {
	token := ""
	if md, ok := metadata.FromIncomingContext(st.Context()); ok {
		if values := md.Get(tokenKey); len(values) == 1 {
			token = values[0]
		}
	}
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	if current == nil || !current.begin(token) {
		return status.Error(codes.PermissionDenied, "the session with the agent has ended, or never began")
	}
	ctx, cancel := context.WithCancel(st.Context())
	defer context.AfterFunc(current.ctx, cancel)()
	closed := make(chan error, 1)
	checkOpen := func() error { return context.Cause(current.ctx) }
	callStream := &stream{messageStream: st, close: cancel, checkOpen: checkOpen, endReason: func(error) error { return checkOpen() }}
	go func() {
		defer current.streams.Done()
		closed <- serve(ctx, current, callStream)
		cancel()
	}()
	<-ctx.Done()
	if err := checkOpen(); err != nil {
		return status.Error(codes.Aborted, err.Error())
	}
	select {
	case err := <-closed:
		return err
	default:
		return nil // the return ends the stream, so the function `serve` stops waiting
	}
}

// serveWork serves one call of a worker's method.
func (s *Server) serveWork(ctx context.Context, _ *session, st *stream) error {
	return remote.Serve(ctx, st, s.worker)
}

// Listen listens at HOST:PORT or unix:PATH. A Unix socket gets mode 0600.
func Listen(address string) (net.Listener, error) {
	networkName, socketAddress := network(address)
	if networkName == "unix" {
		before := syscall.Umask(0o777 &^ socketMode)
		l, err := net.Listen(networkName, socketAddress)
		syscall.Umask(before)
		if err != nil {
			return nil, fmt.Errorf("the agent cannot listen at %s: %w", address, host.Cause(err))
		}
		return l, nil
	}
	l, err := net.Listen(networkName, socketAddress)
	if err != nil {
		return nil, fmt.Errorf("the agent cannot listen: %w", err)
	}
	return l, nil
}

// socketMode permits access only to our user, because a client of the socket has our user's rights.
const socketMode = 0o600
