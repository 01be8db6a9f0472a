package passive

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Each direction of a connection reads into chunks of chunkSize bytes. Several reads share a chunk,
// until fewer than minFreeBytes bytes of the chunk are free.
const (
	chunkSize    = 16 << 10
	minFreeBytes = 4 << 10
)

// forward forwards a connection's bytes in both directions, until both directions have ended or ctx
// is canceled.
func (b *backlog) forward(ctx context.Context, client, server net.Conn) {
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { b.forwardFrom(client, server, clientPiece) })
	both.Go(func() { b.forwardFrom(server, client, serverPiece) })
	both.Wait()
}

// forwardFrom forwards one direction until it ends. It writes bytes to the other side before it
// passes them to the backlog, so that decoding does not delay forwarding.
func (b *backlog) forwardFrom(from, to net.Conn, side pieceKind) {
	var chunk []byte
	for {
		if len(chunk) < minFreeBytes {
			chunk = make([]byte, chunkSize)
		}
		n, err := from.Read(chunk)
		at := b.relay.cfg.Now()
		if n > 0 {
			number := b.lastNumber.Add(1)
			if _, failed := to.Write(chunk[:n]); failed != nil && err == nil {
				err = failed
			}
			if b.add(piece{bytes: chunk[:n:n], number: number, timestamp: at, kind: side}) {
				chunk = chunk[n:]
			}
		}
		if err == nil {
			continue
		}
		half, ok := to.(interface{ CloseWrite() error })
		if !errors.Is(err, io.EOF) || !ok || half.CloseWrite() != nil {
			_, _ = to.Close(), from.Close() // this also ends the other direction
		}
		return
	}
}
