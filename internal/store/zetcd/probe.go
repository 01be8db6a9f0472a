package zetcd

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// probeTimeout is the timeout of a probe's session, in milliseconds. If the session is not closed,
// its etcd lease expires after this time.
const probeTimeout = 2000

// probe checks that a zetcd process serves requests. The first probe opens and closes a session,
// which requires a working etcd. Later probes (`ready` is set) send a four-letter word, which
// causes no request to etcd.
func probe(ctx context.Context, a store.Access, endpoint string, ready bool) error {
	conn, err := a.Connect(ctx, endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // ignore the error: the response was already read
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if !ready {
		return session(conn)
	}
	if _, err := conn.Write([]byte("ruok")); err != nil {
		return err
	}
	answer := make([]byte, 4)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return hungUp(err)
	}
	if string(answer) != "imok" {
		return errors.New("the server does not speak ZooKeeper's protocol")
	}
	return nil
}

// session opens and closes a session.
func session(conn net.Conn) error {
	c := jute.NewConn(jute.Config{Timeout: probeTimeout})
	in := make([]byte, 1<<10)
	for closing := false; ; {
		n, err := conn.Write(c.Out())
		c.Wrote(n)
		if err != nil {
			return err
		}
		if n, err = conn.Read(in); err != nil {
			return hungUp(err)
		}
		replies, err := c.Feed(in[:n])
		if err != nil || len(replies) > 0 {
			return err // the only possible reply is the one to CloseSession
		}
		if c.Ready() && !closing {
			c.CloseSession(jute.Call{})
			closing = true
		}
	}
}

// hungUp converts the error for the end of a connection into an error whose text users
// understand.
func hungUp(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the proxy closed the connection; zetcd does this if etcd does not respond")
	}
	return err
}
