package poll

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Dialer opens the connections of a poller.
type Dialer struct {
	Timeout time.Duration // limits connecting and the handshake together
	TLS     *tls.Config   // nil: no TLS
	// SingleUse optimizes for connections that carry a single operation. On Linux without TLS, such
	// connections are opened without a goroutine. They are closed with a reset. Otherwise their
	// ports would stay in the state TIME_WAIT, and the machine would run out of ports.
	SingleUse bool
	// MaxBuffered is the maximum number of bytes of incomplete replies that RunOperation buffers. 0
	// means DefaultMaxBuffered.
	MaxBuffered int
	// Connect opens the connections. If it is nil, the dialer connects directly. The poller for
	// Linux needs connections with a socket. It opens some of the SingleUse connections directly.
	Connect store.Dial
}

// dial connects and does the TLS handshake. It returns both the socket and the TLS state because
// the poller uses the socket directly.
func (d Dialer) dial(ctx context.Context, endpoint string) (net.Conn, *secured, error) {
	access := store.Access{Dial: d.Connect}
	socket, err := access.Connect(ctx, endpoint)
	if err != nil {
		return nil, nil, d.describeError(endpoint, err)
	}
	if tcp, ok := socket.(*net.TCPConn); ok && d.SingleUse {
		_ = tcp.SetLinger(0)
	}
	if d.TLS == nil {
		return socket, nil, nil
	}
	cfg := d.TLS.Clone()
	if host, _, e := net.SplitHostPort(endpoint); e == nil && cfg.ServerName == "" {
		cfg.ServerName = host
	}
	s := &secured{socket: socket}
	s.tls = tls.Client(s, cfg)
	if err := s.tls.HandshakeContext(ctx); err != nil {
		_ = socket.Close()
		return nil, nil, d.describeError(endpoint, err)
	}
	s.handshaken = true
	return socket, s, nil
}

// describeError returns an error that describes a failed dial in a complete sentence.
func (d Dialer) describeError(endpoint string, err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return newNoResponseError("could not connect to %s within %v", endpoint, d.Timeout)
	case errors.As(err, &op) && op.Op == "dial":
		return newNoResponseError("could not connect to %s: %w", endpoint, op.Err)
	case errors.Is(err, io.EOF):
		return newNoResponseError("could not establish a TLS connection to %s: the server does not respond with TLS; check whether TLS is enabled on the server", endpoint)
	case errors.As(err, new(tls.RecordHeaderError)):
		return fmt.Errorf("could not establish a TLS connection to %s: the server does not respond with TLS; check whether TLS is enabled on the server", endpoint)
	case d.TLS != nil:
		return fmt.Errorf("could not establish a TLS connection to %s: %w", endpoint, err)
	}
	return newNoResponseError("could not connect to %s: %w", endpoint, err)
}

// secured is a TLS connection over a socket that a poller owns. During the handshake crypto/tls
// uses the socket directly. After that, crypto/tls reads the bytes that the poller has read, and
// writes its output to the buffer `out`, from which the poller writes to the socket. If no bytes
// have arrived, crypto/tls gets a temporary error, after which it can be called again. So TLS needs
// no goroutine.
type secured struct {
	tls        *tls.Conn
	socket     net.Conn
	handshaken bool                      // the handshake has succeeded
	out        []byte                    // encrypted output that is not yet written
	fetch      func([]byte) (int, error) // reads from the socket; ErrAgain if nothing has arrived
}

// temporary is a net.Error after which crypto/tls can be used again.
type temporary struct{}

func (temporary) Error() string   { return ErrAgain.Error() }
func (temporary) Timeout() bool   { return true }
func (temporary) Temporary() bool { return true }

func (s *secured) Read(p []byte) (int, error) {
	if !s.handshaken {
		return s.socket.Read(p)
	}
	n, err := s.fetch(p)
	if err == ErrAgain {
		err = temporary{}
	}
	return n, err
}

func (s *secured) Write(p []byte) (int, error) {
	if !s.handshaken {
		return s.socket.Write(p)
	}
	s.out = append(s.out, p...)
	return len(p), nil
}

// read decrypts the bytes that have arrived. It returns at most len(p) bytes.
func (s *secured) read(p []byte) (int, error) {
	total := 0
	for total < len(p) {
		n, err := s.tls.Read(p[total:])
		total += n
		_, again := err.(temporary)
		switch {
		case again:
			if total == 0 {
				return 0, ErrAgain
			}
			return total, nil
		case err != nil && total > 0:
			return total, nil // the next read returns the error again
		case errors.Is(err, io.ErrUnexpectedEOF):
			return 0, io.EOF
		case err != nil:
			return 0, err
		}
	}
	return total, nil
}

// write encrypts p and appends the result to out.
func (s *secured) write(p []byte) (int, error) { return s.tls.Write(p) }

// discardOutput removes the first n bytes of out.
func (s *secured) discardOutput(n int) { s.out = s.out[:copy(s.out, s.out[n:])] }

// The remaining methods implement net.Conn for crypto/tls.

func (s *secured) Close() error                       { return nil }
func (s *secured) LocalAddr() net.Addr                { return s.socket.LocalAddr() }
func (s *secured) RemoteAddr() net.Addr               { return s.socket.RemoteAddr() }
func (s *secured) SetDeadline(t time.Time) error      { return s.setDeadline(t) }
func (s *secured) SetReadDeadline(t time.Time) error  { return s.setDeadline(t) }
func (s *secured) SetWriteDeadline(t time.Time) error { return s.setDeadline(t) }

func (s *secured) setDeadline(t time.Time) error {
	if s.handshaken {
		return nil
	}
	return s.socket.SetDeadline(t)
}

// NoResponseError reports that a server sent no reply: the server could not be reached, closed the
// connection, or was silent for too long.
type NoResponseError struct {
	cause error
	// Text is the reason that the server or the codec stated for closing the connection.
	Text string
}

func (e *NoResponseError) Error() string { return e.cause.Error() }

// Unwrap returns the reason.
func (e *NoResponseError) Unwrap() error { return e.cause }

// newNoResponseError returns a NoResponseError with a formatted message.
func newNoResponseError(format string, args ...any) error {
	return &NoResponseError{cause: fmt.Errorf(format, args...)}
}
