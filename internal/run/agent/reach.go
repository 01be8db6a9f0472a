package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/quorumbench/quorumbench/internal/text"
)

// connectRequest is the first message on a stream of reachMethod: the address to connect to.
type connectRequest struct{ Address string }

// connectReply is the reply to a connectRequest. All later messages in both directions contain
// bytes of the connection. The stream ends when the connection ends.
type connectReply struct {
	Error string `json:",omitempty"`
}

const (
	// connectTimeout limits how long opening a connection may take.
	connectTimeout = 10 * time.Second
	// maxDataBytes is the maximum number of a connection's bytes in one message.
	maxDataBytes = 32 << 10
	// flushTimeout limits how long the last bytes may take to be sent after the connection was
	// closed.
	flushTimeout = 10 * time.Second
)

// serveReach opens a connection for the controller and forwards bytes in both directions.
func (s *Server) serveReach(ctx context.Context, _ *session, st *stream) error {
	request, err := receiveJSON[connectRequest](st)
	if err != nil {
		return err
	}
	conn, err := s.reach(ctx, request.Address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) { // the controller already knows the operation and the address
			err = op.Err
		}
		return sendJSON(st, connectReply{err.Error()})
	}
	shut := func() { _ = conn.Close() } // an error has no consequence
	defer shut()
	defer context.AfterFunc(ctx, shut)()
	if err := sendJSON(st, connectReply{}); err != nil {
		return err
	}
	go func() {
		defer shut()
		for {
			b, err := st.Receive()
			if err == nil {
				_, err = conn.Write(b)
			}
			if err != nil {
				return
			}
		}
	}()
	forwardBytes(st, conn)
	return nil
}

func (s *Server) reach(ctx context.Context, address string) (net.Conn, error) {
	if !s.options.AllowConnections {
		return nil, errors.New("the agent opens no connections for its controller; start the agent with --reach")
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// forwardBytes sends the bytes that are read from a connection until the connection or the stream
// ends.
func forwardBytes(st *stream, conn net.Conn) {
	b := make([]byte, maxDataBytes)
	for {
		n, err := conn.Read(b)
		if n > 0 && st.Send(bytes.Clone(b[:n])) != nil || err != nil {
			return
		}
	}
}

// Reach implements host.Remote.
func (h *remoteHost) Reach() func(context.Context, string) (net.Conn, error) {
	if !h.r.opensConnections {
		return nil
	}
	return h.connect
}

// connect opens a connection from the agent's machine.
func (h *remoteHost) connect(ctx context.Context, endpoint string) (net.Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	st, err := h.r.open(reachMethod)
	if err != nil {
		return nil, h.r.describeError(err)
	}
	release := context.AfterFunc(ctx, st.close)
	err = sendJSON(st, connectRequest{endpoint})
	var a connectReply
	if err == nil || errors.Is(err, io.EOF) { // after EOF, the received status contains the reason
		a, err = receiveJSON[connectReply](st)
	}
	if !release() {
		st.close()
		return nil, context.Cause(ctx)
	}
	if err == nil && a.Error != "" {
		err = &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("from agent %s: %s", h.r.target.Name, text.Line(a.Error, text.MaxServerText))}
	} else if err != nil {
		err = h.r.describeError(err)
	}
	if err != nil {
		st.close()
		return nil, err
	}
	return streamConn(st), nil
}

// streamConn returns a connection whose bytes are sent over a stream. It uses a pipe, which
// implements deadlines.
func streamConn(st *stream) net.Conn {
	near, far := net.Pipe()
	go func() {
		forwardBytes(st, far)
		_ = st.messageStream.(grpc.ClientStream).CloseSend() // the agent then writes the remaining bytes and closes its side
	}()
	go func() {
		defer st.close()
		defer func() { _ = far.Close() }()
		for {
			b, err := st.Receive()
			if err == nil {
				_, err = far.Write(b)
			}
			if err != nil {
				return
			}
		}
	}()
	return &pipeConn{near, st}
}

// pipeConn is our end of the pipe. Another goroutine copies between the other end and the stream.
type pipeConn struct {
	net.Conn
	st *stream
}

// Close implements net.Conn.
func (c *pipeConn) Close() error {
	time.AfterFunc(flushTimeout, c.st.close) // a server that stops reading would otherwise keep the stream open
	return c.Conn.Close()
}
