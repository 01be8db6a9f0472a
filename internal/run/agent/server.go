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
	// Reach lets the agent open connections for its controller, to any address that this machine
	// can reach.
	Reach bool
	TLS   *tls.Config // from ServerTLS; nil for a Unix socket
	// Heartbeat is the interval between a controller's heartbeats. When two heartbeats are missing,
	// the agent stops the controller's load. After the additional time Lease, it kills the
	// controller's servers. Zero values mean 1 s and 10 s.
	Heartbeat, Lease time.Duration
	// If Once is set, the agent exits after its first session, including the lease of a lost
	// controller. It also exits if no controller connects within AwaitController.
	Once  bool
	Clock Clock                            // the zero value means SystemClock
	Say   func(format string, args ...any) // reports events; may be nil
}

// Default values of Options.
const (
	DefaultHeartbeat = time.Second
	DefaultLease     = 10 * time.Second
	AwaitController  = time.Minute
)

// stopWithin limits how long clients may take to receive the last messages on their streams.
const stopWithin = 5 * time.Second

// Server is an agent.
type Server struct {
	o      Options
	host   host.Host
	worker load.Worker
	folder folder
	files  *host.Folder // the same folder, held open
	// mostKept is the maximum size in bytes of a lost session's data, and of the logs of all
	// sessions.
	mostKept int64
	launch   func(c host.Command, marks map[string]string) (host.Command, map[string][]byte, error)
	// launchable returns nil if a cluster can be started here, and otherwise the reason.
	launchable func(of *host.Launch) error
	launcher   *launcher

	mu      sync.Mutex
	current *session
	lost    *lostData      // data of the last controller that was lost; may be nil
	last    bool           // set if no further session may begin
	over    chan struct{}  // closed when the last session has ended
	running sync.WaitGroup // sessions that have not ended
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
		worker = shifted{worker, pretended(o.Clock.Now)}
	}
	var saying sync.Mutex
	say := o.Say
	o.Say = func(format string, args ...any) {
		saying.Lock()
		defer saying.Unlock()
		if say != nil {
			say(format, args...)
		}
	}
	path, err := filepath.Abs(o.Folder)
	if err == nil {
		_, err = host.MakeFolders(path)
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
	if err := nothingForeign(opened); err != nil {
		return nil, err
	}
	local := host.NewLocal(o.Clock.Now, nil).WithFolder(opened)
	if o.Address != "" {
		local = local.WithAddress(o.Address)
	}
	s := &Server{o: o, host: local, folder: folder(path), files: opened, mostKept: mostKept, worker: newChecked(worker, o.Stores), over: make(chan struct{})}
	l := &launcher{stores: o.Stores, self: o.Self, folder: s.folder, execs: o.Execs}
	s.launch, s.launchable, s.launcher = l.command, l.launchable, l
	return s, s.tidy()
}

// StopAfterSession makes Serve return when the current session, if any, has ended, including the
// lease of a lost controller. It may be called more than once.
func (s *Server) StopAfterSession() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last {
		s.last = true
		s.endLast()
	}
}

// endLast closes over if the last session has ended. The caller must hold mu.
func (s *Server) endLast() {
	if s.last && s.current == nil {
		close(s.over)
	}
}

// Serve serves until ctx is canceled or StopAfterSession takes effect. When it returns, everything
// that sessions started has been stopped.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(mostBytes), grpc.MaxSendMsgSize(mostBytes), grpc.MaxConcurrentStreams(1024),
		grpc.MaxHeaderListSize(16 << 10), grpc.ConnectionTimeout(10 * time.Second),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connWindow),
	}
	if s.o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.o.TLS)))
	}
	g := grpc.NewServer(options...)
	streams := []grpc.StreamDesc{
		method(sessionMethod, func(_ any, st grpc.ServerStream) error { return s.serveSession(ctx, st) }),
		method(hostMethod, func(_ any, st grpc.ServerStream) error { return s.serveStream(st, s.serveHost) }),
		method(workMethod, func(_ any, st grpc.ServerStream) error { return s.serveStream(st, s.serveWork) }),
		method(reachMethod, func(_ any, st grpc.ServerStream) error { return s.serveStream(st, s.serveReach) }),
	}
	g.RegisterService(&grpc.ServiceDesc{ServiceName: serviceName, HandlerType: (*any)(nil), Streams: streams}, s)
	stop := context.AfterFunc(ctx, func() {
		s.running.Wait()
		g.Stop()
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
	if s.o.Once {
		select {
		case <-s.o.Clock.After(AwaitController):
			s.StopAfterSession() // has no effect if a controller has connected
		case <-s.over:
		case <-ended:
			return
		}
	}
	select {
	case <-s.over:
	case <-ended:
		return
	}
	limit := time.AfterFunc(stopWithin, g.Stop)
	defer limit.Stop()
	g.GracefulStop()
}

// serveSession serves one controller's session.
func (s *Server) serveSession(ctx context.Context, st grpc.ServerStream) error {
	in := &stream{ends: st, close: func() {}}
	first, err := receiveJSON[hello](in)
	if err != nil {
		return err
	}
	if first.Version != s.o.Version {
		return status.Errorf(codes.FailedPrecondition, "the agent runs quorumbench %s, but the controller runs %s; use the same version on all machines",
			s.o.Version, text.Line(first.Version, 100))
	}
	now, err := s.enter(ctx, text.Line(first.Controller, 200))
	if err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	s.o.Say("controller %s has connected", now.controller)
	beats, ended := make(chan beat), make(chan error, 1)
	go func() {
		for {
			b, err := receiveJSON[beat](in)
			if err != nil {
				ended <- err
				return
			}
			b.Received = s.o.Clock.Now()
			select {
			case beats <- b:
			case <-st.Context().Done():
			}
		}
	}()
	err = sendJSON(in, welcome{Token: now.token, Heartbeat: s.o.Heartbeat, Reaches: s.o.Reach})
	if err == nil {
		err = now.attend(beats, ended, func(b beat) error { return sendJSON(in, b) }, s.o.Heartbeat, s.o.Clock)
	}
	return s.depart(ctx, now, err)
}

// enter begins a session. It returns an error if another session exists or the agent is stopping.
func (s *Server) enter(ctx context.Context, controller string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return nil, errors.New("the agent is stopping")
	}
	switch {
	case s.current != nil:
		return nil, s.current.busy()
	case s.last:
		return nil, errors.New("the agent is stopping")
	}
	s.last = s.o.Once
	s.dropLost("")
	s.current = newSession(ctx, controller, s.o.Clock.Now())
	s.current.files.choosePath(s.files, s.current.since)
	s.running.Add(1)
	return s.current, nil
}

// depart ends a session. It stops the load immediately. It also stops the servers immediately if
// the controller requested the end of the session or if the agent is stopping. Otherwise it stops
// them when the lease expires.
func (s *Server) depart(ctx context.Context, now *session, why error) error {
	now.leave(fmt.Errorf("the agent ended the session: %w", why))
	finish := func() {
		defer s.running.Done()
		now.loads.Wait()
		ran := now.end()
		if ran == 0 {
			s.o.Say("controller %s has disconnected and all its processes have exited; its logs are in %s", now.controller, now.files.path)
		} else {
			s.o.Say("controller %s: stopped %d servers; their data and logs are in %s", now.controller, ran, now.files.path)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keep(ctx, now)
		s.current = nil
		s.endLast()
	}
	if errors.Is(why, errBye) || ctx.Err() != nil {
		finish()
		return nil
	}
	now.lost(s.o.Clock.Now().Add(s.o.Lease))
	s.o.Say("controller %s is lost (%v): its load is stopped now, and its servers will be stopped in %v", now.controller, why, s.o.Lease)
	go func() {
		select {
		case <-s.o.Clock.After(s.o.Lease):
		case <-ctx.Done():
		}
		finish()
	}()
	return status.Errorf(codes.Aborted, "the agent ended the session: %v", why)
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
	now := s.current
	s.mu.Unlock()
	if now == nil || !now.begin(token) {
		return status.Error(codes.PermissionDenied, "the session with the agent has ended, or never began")
	}
	ctx, cancel := context.WithCancel(st.Context())
	defer context.AfterFunc(now.ctx, cancel)()
	closed := make(chan error, 1)
	over := func() error { return context.Cause(now.ctx) }
	in := &stream{ends: st, close: cancel, open: over, why: func(error) error { return over() }}
	go func() {
		defer now.loads.Done()
		closed <- serve(ctx, now, in)
		cancel()
	}()
	<-ctx.Done()
	if err := over(); err != nil {
		return status.Error(codes.Aborted, err.Error())
	}
	select {
	case err := <-closed:
		return err
	default:
		return nil // the return ends the stream, so serve stops waiting
	}
}

// serveWork serves one call of a worker's method.
func (s *Server) serveWork(ctx context.Context, _ *session, st *stream) error {
	return remote.Serve(ctx, st, s.worker)
}

// Listen listens at HOST:PORT or unix:PATH. A Unix socket gets mode 0600.
func Listen(address string) (net.Listener, error) {
	of, at := network(address)
	if of == "unix" {
		before := syscall.Umask(0o777 &^ socketMode)
		l, err := net.Listen(of, at)
		syscall.Umask(before)
		if err != nil {
			return nil, fmt.Errorf("the agent cannot listen at %s: %w", address, host.Cause(err))
		}
		return l, nil
	}
	l, err := net.Listen(of, at)
	if err != nil {
		return nil, fmt.Errorf("the agent cannot listen: %w", err)
	}
	return l, nil
}

// socketMode permits access only to our user, because a client of the socket has our user's rights.
const socketMode = 0o600
