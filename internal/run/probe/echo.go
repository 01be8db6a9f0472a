package probe

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Echo is a TCP server that returns small messages, for a measurement of round trips. It serves
// only clients that know its token.
type Echo struct {
	Address string // HOST:PORT
	Token   string
	l       net.Listener
	clients sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelFunc
}

const (
	echoToken   = 16 // bytes
	echoMessage = 64 // bytes; the size of a heartbeat is similar
	// maxRoundTrips is the maximum number of messages on one connection.
	maxRoundTrips = 10_000
	echoIdle      = 10 * time.Second
	// messageInterval is the interval between two messages. Back-to-back messages would measure
	// only a moment.
	messageInterval = 10 * time.Millisecond
)

// StartEcho starts a server at an IP address, on a free port.
func StartEcho(address string) (*Echo, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, fmt.Errorf("cannot listen for messages from the other hosts: %w", err)
	}
	var token [echoToken]byte
	_, _ = rand.Read(token[:]) // never fails
	e := &Echo{Address: l.Addr().String(), Token: hex.EncodeToString(token[:]), l: l}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.clients.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.clients.Go(func() { e.serve(c.(*net.TCPConn), token[:]) })
		}
	})
	return e, nil
}

// Close stops the server and waits until its connections are closed.
func (e *Echo) Close() {
	e.cancel()
	_ = e.l.Close()
	e.clients.Wait()
}

// serve returns the messages of one client. After the client's last message, it sends the numbers
// of segments that this side sent and retransmitted.
func (e *Echo) serve(c *net.TCPConn, token []byte) {
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(e.ctx, func() { _ = c.Close() })()
	var b [echoMessage]byte
	for i := range maxRoundTrips + 1 {
		_ = c.SetDeadline(time.Now().Add(echoIdle))
		message := b[:]
		if i == 0 {
			message = b[:echoToken]
		}
		if _, err := io.ReadFull(c, message); err != nil {
			if i > 0 && errors.Is(err, io.EOF) {
				sent, again := segments(c)
				_, _ = c.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(sent)), uint64(again)))
			}
			return
		}
		if i == 0 && subtle.ConstantTimeCompare(message, token) != 1 {
			return
		}
		if _, err := c.Write(message); err != nil {
			return
		}
	}
}

// RoundTrips sends n messages to the echo server at an address, one every 10 ms, and measures how
// long each takes to return. It sends fewer messages if they take longer than `limit` in total.
func RoundTrips(ctx context.Context, address, token string, n int, limit time.Duration) (r measure.RoundTrips, err error) {
	key, err := hex.DecodeString(token)
	if err != nil || len(key) != echoToken || n < 1 || n > maxRoundTrips {
		return r, fmt.Errorf("cannot measure %d round trips: the number must be from 1 to %d, and the token must encode %d bytes", n, maxRoundTrips, echoToken)
	}
	dialing, stop := context.WithTimeout(ctx, echoIdle)
	defer stop()
	connected, err := new(net.Dialer).DialContext(dialing, "tcp", address)
	if err != nil {
		return r, tripError(ctx, address, err)
	}
	c := connected.(*net.TCPConn)
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	var out, in [echoMessage]byte
	_ = c.SetDeadline(time.Now().Add(echoIdle)) // another program may have the port, and never reply
	if _, err = c.Write(key); err == nil {
		_, err = io.ReadFull(c, in[:echoToken])
	}
	if err != nil {
		return r, tripError(ctx, address, err)
	}
	_ = c.SetDeadline(time.Now().Add(limit + echoIdle))
	began := time.Now()
	for i := 0; i < n && time.Since(began) < limit; i++ {
		sent := time.Now()
		if _, err = c.Write(out[:]); err == nil {
			_, err = io.ReadFull(c, in[:])
		}
		if err != nil {
			return r, tripError(ctx, address, err)
		}
		r.NS = append(r.NS, int64(time.Since(sent)))
		select {
		case <-time.After(time.Until(sent.Add(messageInterval))):
		case <-ctx.Done():
			return r, context.Cause(ctx)
		}
	}
	r.Segments, r.Retransmitted = segments(c)
	return r, lastSegments(c, &r)
}

// lastSegments ends the connection and adds the server's numbers of segments to those in r.
func lastSegments(c *net.TCPConn, r *measure.RoundTrips) error {
	var b [16]byte
	if err := c.CloseWrite(); err != nil {
		return fmt.Errorf("cannot end the measurement of round trips: %w", err)
	}
	if _, err := io.ReadFull(c, b[:]); err != nil {
		r.Segments, r.Retransmitted = -1, -1 // the round trips are known
		return nil
	}
	sent, again := int64(binary.BigEndian.Uint64(b[:8])), int64(binary.BigEndian.Uint64(b[8:]))
	r.Segments, r.Retransmitted = sumKnown(r.Segments, sent), sumKnown(r.Retransmitted, again)
	return nil
}

// tripError returns an error about the connection to an echo server.
func tripError(ctx context.Context, address string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	remedy := "allow TCP connections between the hosts, to any port"
	if to, parseErr := netip.ParseAddrPort(address); parseErr == nil && to.Addr().IsLoopback() {
		remedy = "start the agent on that host with an --address that the other hosts can reach"
	}
	return fmt.Errorf("cannot measure round trips to %s: %w; %s", address, err, remedy)
}
