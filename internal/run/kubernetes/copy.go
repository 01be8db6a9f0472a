package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// receiveProgram is a shell script that reads a program from standard input and executes it. Its
// first argument is the size of the program. The other arguments are those of the program.
const receiveProgram = `set -e; n=$1; shift; head -c "$n" > /tmp/quorumbench; chmod 755 /tmp/quorumbench; echo '` + copiedLine + `'; exec /tmp/quorumbench "$@"`

// copiedLine is the first line that the container writes.
const copiedLine = stderrMark + "quorumbench: the program was copied into the pod"

// Protocols of a connection to the streams of a container. Each message begins with the number of a
// stream. API servers have supported the first since Kubernetes 1.30.
var attachProtocols = []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}

// Streams of such a connection.
const (
	stdinStream = iota
	stdoutStream
	stderrStream
	errorStream
)

// copyTimeout is the maximum time for copying a program into a pod.
const copyTimeout = 5 * time.Minute

// copyProgram writes a file to the standard input of a pod's container, and waits until the
// container has received it.
func (a *api) copyProgram(ctx context.Context, pod, file string) (err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("cannot copy this program into the pod: %w; give an image that contains it with --image", err)
		}
	}()
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the file was only read
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	c, err := a.attach(ctx, pod)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // ends all reads and writes
	defer stop()
	received := make(chan error, 1)
	go func() { received <- awaitOutput(c) }()
	err = sendFile(c, f)
	if err == nil {
		err = <-received
	}
	_ = c.Close() // the container has received everything, or err states why not
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// attach connects to the streams of a pod's container.
func (a *api) attach(ctx context.Context, pod string) (*websocket.Conn, error) {
	endpoint := a.path("pods", pod, "attach")
	endpoint.Scheme = "ws" + strings.TrimPrefix(endpoint.Scheme, "http")
	endpoint.RawQuery = url.Values{"container": {checkRole}, "stdin": {"true"}, "stdout": {"true"}}.Encode()
	header := http.Header{}
	if err := a.login.authorize(ctx, header); err != nil {
		return nil, err
	}
	dialer := websocket.Dialer{Proxy: a.login.proxy, TLSClientConfig: a.login.tls, Subprotocols: attachProtocols}
	c, reply, err := dialer.DialContext(ctx, endpoint.String(), header) //nolint:bodyclose // according to the library's documentation, the body need not be closed
	if errors.Is(err, websocket.ErrBadHandshake) && reply != nil {
		answer, _ := io.ReadAll(io.LimitReader(reply.Body, maxTextBytes)) // the status is sufficient
		err = newAPIError(reply, answer)
	}
	return c, err
}

// sendFile sends a file to the container's standard input.
func sendFile(c *websocket.Conn, f io.Reader) error {
	message := make([]byte, 1+32<<10)
	message[0] = stdinStream
	for {
		n, err := f.Read(message[1:])
		if n > 0 {
			if err := c.WriteMessage(websocket.BinaryMessage, message[:1+n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// awaitOutput waits until the container has written something to its standard output.
func awaitOutput(c *websocket.Conn) error {
	for {
		_, message, err := c.ReadMessage()
		switch {
		case err != nil:
			return err
		case len(message) < 2:
			continue // the API sends an empty message for each stream
		case message[0] == stdoutStream:
			return nil
		case message[0] == errorStream:
			return errors.New(statusText(string(message[1:])))
		}
	}
}
