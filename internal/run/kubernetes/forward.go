package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// forward opens a connection to a port of a pod through the API, as kubectl
// port-forward does, but without a port of ours that others could connect to.
func (a *api) forward(ctx context.Context, pod string, port int) (net.Conn, error) {
	to := a.client.Post().AbsPath(groups["pods"], "namespaces", a.namespace, "pods", pod, "portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(a.config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	newer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(to, a.config)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialerForStreaming(newer, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	type dialed struct {
		c   *forwarded
		err error
	}
	done := make(chan dialed, 1)
	go func() { // Dial takes no context
		line, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		if err != nil {
			done <- dialed{err: err}
			return
		}
		c, err := open(line, pod, port)
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

// forwarded is a connection to a pod's port: two streams, one for what the pod's
// node has to say about it.
type forwarded struct {
	httpstream.Stream
	line httpstream.Connection
	to   podAddress

	mu  sync.Mutex
	why error // what the node said
}

func open(line httpstream.Connection, pod string, port int) (*forwarded, error) {
	headers := http.Header{}
	headers.Set(core.PortHeader, strconv.Itoa(port))
	headers.Set(core.PortForwardRequestIDHeader, "0")
	headers.Set(core.StreamType, core.StreamTypeError)
	said, err := line.CreateStream(headers)
	if err != nil {
		return nil, errors.Join(err, line.Close())
	}
	_ = said.Close() // our side of it: we say nothing
	headers.Set(core.StreamType, core.StreamTypeData)
	data, err := line.CreateStream(headers)
	if err != nil {
		return nil, errors.Join(err, line.Close())
	}
	c := &forwarded{Stream: data, line: line, to: podAddress(pod)}
	go func() {
		b, _ := io.ReadAll(io.LimitReader(said, 1000))
		if text := strings.TrimSpace(string(b)); text != "" {
			c.mu.Lock()
			c.why = fmt.Errorf("the pod's node says: %s", text)
			c.mu.Unlock()
			_ = line.Close()
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
		if c.why != nil {
			err = c.why
		}
	}
	return n, err
}

// Close implements net.Conn.
func (c *forwarded) Close() error {
	_ = c.Reset() // the line's end is the stream's
	return c.line.Close()
}

// A stream has no deadlines; who needs one closes the connection. The agents' TLS
// and gRPC do.

// SetDeadline implements net.Conn.
func (*forwarded) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (*forwarded) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (*forwarded) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements net.Conn.
func (*forwarded) LocalAddr() net.Addr { return podAddress("here") }

// RemoteAddr implements net.Conn.
func (c *forwarded) RemoteAddr() net.Addr { return c.to }

// podAddress is a pod's name as an address.
type podAddress string

// Network implements net.Addr.
func (podAddress) Network() string { return "port-forward" }

// String implements net.Addr.
func (p podAddress) String() string { return string(p) }
