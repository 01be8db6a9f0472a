package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// adminSession is a session with one member that sends one request at a time. It uses the load's
// protocol code instead of the common Go library, because that library trusts the server. With
// that library, quorumbench would crash if a server sent a session timeout of 0 ms or a list of
// 2^31 names.
type adminSession struct {
	ctx     context.Context
	timeout time.Duration // limit for one request
	conn    net.Conn
	stop    func() bool // after this call, ctx no longer interrupts I/O
	c       *jute.Conn
	buf     []byte
}

// openSession opens a session at the first endpoint that accepts one.
func (a *admin) openSession(ctx context.Context) (*adminSession, error) {
	var errs []string
	for _, e := range a.access.Endpoints {
		s, err := a.openSessionAt(ctx, e)
		if err == nil {
			return s, nil
		}
		errs = append(errs, e+": "+reason(ctx, err))
	}
	return nil, fmt.Errorf("cannot open a session at the ZooKeeper cluster: %s", strings.Join(errs, "; "))
}

// openSessionAt opens a session at an endpoint. It authenticates if the access has a user.
func (a *admin) openSessionAt(ctx context.Context, endpoint string) (*adminSession, error) {
	dialing, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	conn, err := a.access.ConnectSecure(dialing, endpoint)
	if err != nil {
		return nil, err
	}
	cfg := jute.Config{Timeout: int32(sessionTimeout / time.Millisecond)}
	if a.access.User != "" {
		cfg.Auth = a.access.User + ":" + a.access.Password
	}
	s := &adminSession{ctx: ctx, timeout: a.timeout, conn: conn, c: jute.NewConn(cfg), buf: make([]byte, 4096)}
	s.stop = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if _, err := s.exchange(s.c.Ready); err != nil {
		s.close()
		return nil, explain(err)
	}
	return s, nil
}

// request sends a request and returns its reply.
func (s *adminSession) request(send func(c *jute.Conn)) (jute.Reply, error) {
	send(s.c)
	r, err := s.exchange(nil)
	return r, explain(err)
}

// exchange writes pending output and reads until the function ready returns true. If ready is nil,
// it reads until the first reply and returns that reply.
func (s *adminSession) exchange(ready func() bool) (jute.Reply, error) {
	_ = s.conn.SetDeadline(time.Now().Add(s.timeout))
	if err := s.ctx.Err(); err != nil { // ctx may have ended before the deadline was set
		return jute.Reply{}, err
	}
	for {
		if out := s.c.Out(); len(out) > 0 {
			n, err := s.conn.Write(out)
			s.c.Wrote(n)
			if err != nil {
				return jute.Reply{}, err
			}
		}
		if ready != nil && ready() {
			return jute.Reply{}, nil
		}
		n, err := s.conn.Read(s.buf)
		if err != nil {
			return jute.Reply{}, err
		}
		replies, err := s.c.Feed(s.buf[:n])
		switch {
		case err != nil:
			return jute.Reply{}, err
		case len(replies) > 0:
			return replies[0], nil
		}
	}
}

// endSession closes the session and waits for the member's confirmation.
func (s *adminSession) endSession() error {
	defer s.close()
	_, err := s.request(func(c *jute.Conn) { c.CloseSession(jute.Call{}) })
	if errors.Is(err, io.EOF) { // the server may close the connection without a reply
		return nil
	}
	return err
}

func (s *adminSession) close() {
	s.stop()
	_ = s.conn.Close() // ignore the error: the client has read everything it needs
}

// createTransactions opens and closes a session at an endpoint. This creates two transactions that
// the leader replicates to every member.
func (a *admin) createTransactions(ctx context.Context, endpoint string) error {
	s, err := a.openSessionAt(ctx, endpoint)
	if err != nil {
		return err
	}
	return s.endSession()
}

// admin implements store.Admin. It sends each four-letter word over a new connection. For other
// requests, each call opens a session and closes it at the end.
type admin struct {
	store.NoServices

	access  store.Access
	timeout time.Duration // limit for one query to one endpoint

	mu         sync.Mutex
	identities map[string]identity // by endpoint
}

// identity holds the parts of a member's configuration that do not change.
type identity struct {
	id    uint64
	peers []string
}
