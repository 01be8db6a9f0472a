package kubernetes

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// echo accepts data streams to port 7420 and sends all data back. It rejects all other ports, with
// a reason.
func echo(s httpstream.Stream, _ <-chan struct{}) error {
	go func() {
		switch {
		case s.Headers().Get("port") == "7420" && s.Headers().Get("streamType") == "data":
			_, _ = io.Copy(s, s)
			_ = s.Close()
		case s.Headers().Get("port") != "7420" && s.Headers().Get("streamType") == "error":
			_, _ = io.WriteString(s, "nothing listens\n")
			_ = s.Close()
		}
	}()
	return nil
}

// startForwarding starts an API server that forwards connections to pods. If isNew is set, the
// server supports WebSockets, as new API servers do.
func startForwarding(t *testing.T, isNew bool) (a *api, tunnels *atomic.Int32) {
	t.Helper()
	tunnels = new(atomic.Int32)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/api/v1/namespaces/default/pods/p/portforward" || r.Header.Get("Authorization") != "Bearer abc":
			w.WriteHeader(http.StatusUnauthorized)
		case websocket.IsWebSocketUpgrade(r) && !isNew:
			w.WriteHeader(http.StatusForbidden)
		case websocket.IsWebSocketUpgrade(r):
			up := websocket.Upgrader{Subprotocols: []string{tunnelProtocol}}
			c, err := up.Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			tunnels.Add(1)
			line, err := spdy.NewServerConnection(&tunnel{Conn: c}, echo)
			if err != nil {
				t.Error(err)
				return
			}
			<-line.CloseChan()
		default:
			if protocol := r.Header.Get(httpstream.HeaderProtocolVersion); protocol != forwardProtocol {
				t.Errorf("the protocol is %q", protocol)
			}
			w.Header().Set(httpstream.HeaderProtocolVersion, forwardProtocol)
			if line := spdy.NewResponseUpgrader().UpgradeResponse(w, r, echo); line != nil {
				<-line.CloseChan()
			}
		}
	}))
	s.EnableHTTP2 = true // forwarding cannot use HTTP/2
	s.StartTLS()
	t.Cleanup(s.Close)
	path := write(t, t.TempDir(), "config", "{clusters: [{name: c, cluster: {server: '"+s.URL+"', insecure-skip-tls-verify: true}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x, users: [{name: u, user: {token: abc}}]}")
	a, err := connect(&Options{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.list(t.Context(), "pods", labelSelector, "a=b", nil); err == nil { // this request shows the client that the server supports HTTP/2
		t.Error("the list of pods was returned, want an error")
	}
	return a, tunnels
}

// Connections reach a pod's port through both new and old API servers.
func TestForward(t *testing.T) {
	for _, isNew := range []bool{true, false} {
		a, tunnels := startForwarding(t, isNew)
		c, err := a.forward(t.Context(), "p", agentPort)
		if err != nil {
			t.Fatalf("new %v: %v", isNew, err)
		}
		sent := strings.Repeat("0123456789", 20_000) // longer than one message and one frame
		go func() { _, _ = io.WriteString(c, sent) }()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != sent {
			t.Errorf("new %v: the %d echoed bytes differ from the sent bytes, or the read failed: %v", isNew, len(got), err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if c.RemoteAddr().String() != "p" || tunnels.Load() == 1 != isNew {
			t.Errorf("new %v: the connection has the remote address %s and uses %d tunnels", isNew, c.RemoteAddr(), tunnels.Load())
		}
		if c, err = a.forward(t.Context(), "p", 1); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err == nil || !strings.Contains(err.Error(), "the pod's node reports: nothing listens") {
			t.Errorf("new %v: reading from a port without a listener returned: %v", isNew, err)
		}
		_ = c.Close() // already closed
		if _, err := a.forward(t.Context(), "none", 1); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("new %v: forwarding to a missing pod returned: %v", isNew, err)
		}
	}
}
