package zookeeper

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// touch begins a session at an endpoint and ends it: two transactions, which
// every member gets.
func (a *admin) touch(ctx context.Context, endpoint string) error {
	conn, err := dial(ctx, a.access, endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c := jute.NewConn(jute.Config{Timeout: int32(sessionTimeout / time.Millisecond)})
	buf := make([]byte, 4096)
	for closing := false; ; {
		if c.Ready() && !closing {
			closing = true
			c.CloseSession(jute.Call{})
		}
		if out := c.Out(); len(out) > 0 {
			n, err := conn.Write(out)
			c.Wrote(n)
			if err != nil {
				return err
			}
		}
		n, err := conn.Read(buf)
		if errors.Is(err, io.EOF) && closing {
			return nil
		}
		if err != nil {
			return err
		}
		replies, err := c.Feed(buf[:n])
		if err != nil || len(replies) > 0 {
			return err
		}
	}
}
