package calibrate

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// NullServer is a process of quorumbench that responds immediately.
type NullServer struct {
	Endpoint string

	process host.Process
	lease   *host.Lease
}

// startTimeout limits how long the null server may take to accept connections.
const startTimeout = 20 * time.Second

// StartNullServer starts the quorumbench binary at self as a null server for a store's protocol. It
// returns when the server accepts connections. The server's log is in the folder dir. On Linux, the
// server never outlives our process.
func StartNullServer(ctx context.Context, self, store, dir string) (_ *NullServer, err error) {
	h := host.NewLocal(nil, nil)
	lease, err := h.Ports(ctx, 1)
	if err != nil {
		return nil, err
	}
	s := &NullServer{Endpoint: net.JoinHostPort(lease.Address, strconv.Itoa(lease.Ports[0])), lease: lease}
	defer func() {
		if err != nil {
			s.Stop(context.WithoutCancel(ctx))
		}
	}()
	s.process, err = h.Start(ctx, host.Command{Path: self, Dir: dir, LogFile: filepath.Join(dir, "null-server.log"),
		Args: []string{"null-server", "--protocol", store, "--listen", s.Endpoint}})
	if err != nil {
		return nil, fmt.Errorf("cannot start the null server: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the null server accepted no connection within %v", startTimeout))
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Endpoint)
		if err == nil {
			return s, conn.Close()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the null server did not start: %w", context.Cause(ctx))
		case <-s.process.Exited():
			e := s.process.Exit()
			return nil, fmt.Errorf("the null server exited (%s): %s", e, strings.Join(e.Tail, "; "))
		case <-time.After(retryPause):
		}
	}
}

// retryPause is the pause after the null server refused a connection.
const retryPause = 5 * time.Millisecond

// Bind controls on which processors this process and the server run, until undo is called. If
// sameProcessor is set, both run on one processor, so that neither has to wait for another
// processor to wake up. Otherwise each runs on its own processor. Bind returns an error if the
// system does not support this.
func (s *NullServer) Bind(sameProcessor bool) (undo func(), err error) {
	return bind(os.Getpid(), s.process.Identity().PID, sameProcessor)
}

// Stop kills the server and waits until it has exited.
func (s *NullServer) Stop(ctx context.Context) {
	defer s.lease.Release()
	if s.process == nil {
		return
	}
	_ = s.process.Signal(ctx, host.Kill) // the server stores no data
	<-s.process.Exited()
}
