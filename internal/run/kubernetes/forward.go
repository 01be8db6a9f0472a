package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// Names of the port-forward protocol, directly over HTTP and in a WebSocket.
const (
	forwardProtocol = "portforward.k8s.io"
	tunnelProtocol  = "SPDY/3.1+" + forwardProtocol
)

// pingInterval is the interval between pings. The pings prevent load balancers from closing an idle
// connection.
const pingInterval = 5 * time.Second

// forward opens a connection to a port of a pod through the API. It works like kubectl
// port-forward, but does not open a local port, to which other programs could connect.
func (a *api) forward(ctx context.Context, pod string, port int) (net.Conn, error) {
	type dialed struct {
		c   *forwarded
		err error
	}
	done := make(chan dialed, 1)
	go func() { // a goroutine is necessary because SPDY does not support contexts
		tunnelConn, err := a.dialTunnel(ctx, pod)
		if httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) {
			tunnelConn, err = a.dialSPDY(ctx, a.path("pods", pod, "portforward"), forwardProtocol)
		}
		if err != nil {
			done <- dialed{err: err}
			return
		}
		c, err := open(tunnelConn, pod, port)
		done <- dialed{c, err}
	}()
	select {
	case d := <-done:
		if d.err != nil {
			return nil, d.err
		}
		return d.c, nil
	case <-ctx.Done():
		go func() {
			if d := <-done; d.err == nil {
				_ = d.c.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// dialTunnel opens a SPDY connection to a pod's node inside a WebSocket. API servers support such
// connections since Kubernetes 1.30, and proxies forward them.
func (a *api) dialTunnel(ctx context.Context, pod string) (httpstream.Connection, error) {
	endpoint := a.path("pods", pod, "portforward")
	endpoint.Scheme = "ws" + strings.TrimPrefix(endpoint.Scheme, "http")
	header := http.Header{}
	if err := a.login.authorize(ctx, header); err != nil {
		return nil, err
	}
	const buffer = 32 << 10
	dialer := websocket.Dialer{
		Proxy: a.login.proxy, TLSClientConfig: a.login.tls, Subprotocols: []string{tunnelProtocol}, ReadBufferSize: buffer, WriteBufferSize: buffer,
	}
	c, reply, err := dialer.DialContext(ctx, endpoint.String(), header) //nolint:bodyclose // according to the library's documentation, the body need not be closed
	switch {
	case errors.Is(err, websocket.ErrBadHandshake):
		if reply != nil {
			err = fmt.Errorf("%w (%s)", err, reply.Status)
		}
		return nil, &httpstream.UpgradeFailureError{Cause: err}
	case err != nil:
		return nil, err
	case c.Subprotocol() != tunnelProtocol:
		_ = c.Close()
		return nil, &httpstream.UpgradeFailureError{Cause: fmt.Errorf("the API uses the protocol %q instead of %s", c.Subprotocol(), tunnelProtocol)}
	}
	return spdy.NewClientConnectionWithPings(&tunnel{Conn: c}, pingInterval)
}

// dialSPDY opens a direct SPDY connection to a pod's node, for the given protocol. For port
// forwarding, only older API servers require this.
func (a *api) dialSPDY(ctx context.Context, endpoint *url.URL, protocol string) (httpstream.Connection, error) {
	transport, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{TLS: a.login.tls, Proxier: a.login.proxy, PingPeriod: pingInterval})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set(httpstream.HeaderProtocolVersion, protocol)
	reply, err := (&http.Client{Transport: authorized{a.login, transport}}).Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reply.Body.Close() }() // closing the body does not close the connection
	return transport.NewConnection(reply)
}

// tunnel is a WebSocket that implements net.Conn. It sends the bytes in binary messages.
type tunnel struct {
	*websocket.Conn
	message io.Reader // the part of the last message that was not read yet, or nil
}

// Read implements net.Conn.
func (t *tunnel) Read(p []byte) (int, error) {
	for {
		if t.message == nil {
			kind, message, err := t.NextReader()
			switch {
			case websocket.IsCloseError(err, websocket.CloseNormalClosure):
				return 0, io.EOF
			case err != nil:
				return 0, err
			case kind != websocket.BinaryMessage:
				return 0, errors.New("the API sent a text message instead of a binary message")
			}
			t.message = message
		}
		n, err := t.message.Read(p)
		if errors.Is(err, io.EOF) {
			t.message, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (t *tunnel) Write(p []byte) (int, error) {
	if err := t.WriteMessage(websocket.BinaryMessage, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close implements net.Conn.
func (t *tunnel) Close() error {
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = t.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) // an error is acceptable, because the peer may have disconnected
	return t.Conn.Close()
}

// SetDeadline implements net.Conn.
func (t *tunnel) SetDeadline(at time.Time) error {
	return errors.Join(t.SetReadDeadline(at), t.SetWriteDeadline(at))
}

// forwarded is a connection to a pod's port. It has two streams: one for data, and one for errors
// that the pod's node reports.
type forwarded struct {
	httpstream.Stream
	tunnelConn httpstream.Connection
	address    podAddress

	mu      sync.Mutex
	nodeErr error // the error that the node reported
}

func open(tunnelConn httpstream.Connection, pod string, port int) (*forwarded, error) {
	headers := http.Header{}
	headers.Set("port", strconv.Itoa(port))
	headers.Set("requestID", "0")
	headers.Set("streamType", "error")
	errorStream, err := tunnelConn.CreateStream(headers)
	if err != nil {
		return nil, errors.Join(err, tunnelConn.Close())
	}
	_ = errorStream.Close() // we send nothing on this stream
	headers.Set("streamType", "data")
	data, err := tunnelConn.CreateStream(headers)
	if err != nil {
		return nil, errors.Join(err, tunnelConn.Close())
	}
	c := &forwarded{Stream: data, tunnelConn: tunnelConn, address: podAddress(pod)}
	go func() {
		b, _ := io.ReadAll(io.LimitReader(errorStream, 1000))
		if text := strings.TrimSpace(string(b)); text != "" {
			c.mu.Lock()
			c.nodeErr = fmt.Errorf("the pod's node reports: %s", text)
			c.mu.Unlock()
			_ = tunnelConn.Close()
		}
	}()
	return c, nil
}

// Read implements net.Conn.
func (c *forwarded) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.nodeErr != nil {
			err = c.nodeErr
		}
	}
	return n, err
}

// Close implements net.Conn.
func (c *forwarded) Close() error {
	_ = c.Reset() // an error is acceptable, because closing the tunnel also ends the stream
	return c.tunnelConn.Close()
}

// Streams do not support deadlines. A caller that needs a deadline must close the connection when
// the time has passed, as TLS and gRPC in package agent do.

// SetDeadline implements net.Conn.
func (*forwarded) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (*forwarded) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (*forwarded) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements net.Conn.
func (*forwarded) LocalAddr() net.Addr { return podAddress("here") }

// RemoteAddr implements net.Conn.
func (c *forwarded) RemoteAddr() net.Addr { return c.address }

// podAddress is a net.Addr that consists of the name of a pod.
type podAddress string

// Network implements net.Addr.
func (podAddress) Network() string { return "port-forward" }

// String implements net.Addr.
func (p podAddress) String() string { return string(p) }
