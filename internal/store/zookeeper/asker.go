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

// asker is a session at one member that sends one request after the other. It
// is made of what the load is made of, and not of the library that Go programs
// use: that takes a server at its word, and a session of 0 ms or a list of 2^31
// names would end this whole program.
type asker struct {
	ctx     context.Context
	timeout time.Duration // bounds one request
	conn    net.Conn
	stop    func() bool // of what ends the connection with ctx
	c       *jute.Conn
	buf     []byte
}

// begin begins a session at the first endpoint that grants one.
func (a *admin) begin(ctx context.Context) (*asker, error) {
	var errs []string
	for _, e := range a.access.Endpoints {
		s, err := a.beginAt(ctx, e)
		if err == nil {
			return s, nil
		}
		errs = append(errs, e+": "+reason(ctx, err))
	}
	return nil, fmt.Errorf("no session at the ZooKeeper cluster: %s", strings.Join(errs, "; "))
}

// beginAt begins a session at an endpoint, as the access's user if it has one.
func (a *admin) beginAt(ctx context.Context, endpoint string) (*asker, error) {
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
	s := &asker{ctx: ctx, timeout: a.timeout, conn: conn, c: jute.NewConn(cfg), buf: make([]byte, 4096)}
	s.stop = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if _, err := s.exchange(s.c.Ready); err != nil {
		s.close()
		return nil, explain(err)
	}
	return s, nil
}

// do sends a request and waits for its answer.
func (s *asker) do(send func(c *jute.Conn)) (jute.Reply, error) {
	send(s.c)
	r, err := s.exchange(nil)
	return r, explain(err)
}

// exchange writes what there is and reads until ready says that it is enough;
// nil waits for an answer.
func (s *asker) exchange(ready func() bool) (jute.Reply, error) {
	_ = s.conn.SetDeadline(time.Now().Add(s.timeout))
	if err := s.ctx.Err(); err != nil { // it may have ended before the line above
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

// end ends the session, and reports whether the member said that it did.
func (s *asker) end() error {
	defer s.close()
	_, err := s.do(func(c *jute.Conn) { c.CloseSession(jute.Call{}) })
	if errors.Is(err, io.EOF) { // it may close without an answer
		return nil
	}
	return err
}

func (s *asker) close() {
	s.stop()
	_ = s.conn.Close() // what counts was read
}

// touch begins a session at an endpoint and ends it: two transactions, which
// every member gets.
func (a *admin) touch(ctx context.Context, endpoint string) error {
	s, err := a.beginAt(ctx, endpoint)
	if err != nil {
		return err
	}
	return s.end()
}

// admin asks members their four-letter words, each over a connection of its
// own, and maintains the cluster in sessions that end with each call.
type admin struct {
	store.NoServices

	access  store.Access
	timeout time.Duration // bounds one question to one endpoint

	mu         sync.Mutex
	identities map[string]identity // of members, by endpoint
}

// identity is what a member's configuration says of it, which does not change.
type identity struct {
	id    uint64
	peers []string
}
