package passive

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// chunkSize is how much a goroutine reads at a time.
const chunkSize = 16 << 10

// forwardBoth passes a connection on by two goroutines: over TLS, and where there is no
// loop.
func (t *tapped) forwardBoth(ctx context.Context, client, server net.Conn) {
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Add(2)
	go func() {
		defer both.Done()
		t.forward(server, client, pieceOfClient)
	}()
	go func() {
		defer both.Done()
		t.forward(client, server, pieceOfServer)
	}()
	both.Wait()
}

// forward passes one direction on, until its end.
func (t *tapped) forward(to, from net.Conn, side what) {
	buf := t.relay.buffer(chunkSize)
	for {
		n, err := from.Read(buf.b)
		at := t.relay.cfg.Now()
		if n > 0 {
			number := t.next.Add(1)
			if _, failed := to.Write(buf.b[:n]); failed != nil && err == nil {
				err = failed
			}
			p := piece{of: t, b: buf.b[:n], buf: buf, number: number, at: at, size: chunkSize, what: side}
			if p, any := t.admit(p); any {
				t.queue.give(p)
				if p.buf != nil {
					buf = t.relay.buffer(chunkSize)
				}
			}
		}
		if err == nil {
			continue
		}
		t.relay.free(buf)
		half, ok := to.(interface{ CloseWrite() error })
		if !errors.Is(err, io.EOF) || !ok || half.CloseWrite() != nil {
			_, _ = to.Close(), from.Close() // both ways are over
		}
		return
	}
}
