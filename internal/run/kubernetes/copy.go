package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// receiveProgram is a shell script that reads a program from standard input and executes it. Its
// first two arguments are the size of the program, and the processors for which it was built (see
// host.ProcessorNames). The other arguments are those of the program.
//
// The shell is the pod's first process, so it receives only the signals for which it has set a
// trap. It handles them only while no program runs in the foreground. Therefore, head runs in the
// background. It reads from descriptor 3, because shells disconnect programs in the background from
// standard input. On a machine of another type, the script exits with code 126, because some shells
// would otherwise execute the program as a script.
const receiveProgram = `set -e
n=$1; machines=$2; shift 2
trap 'exit 143' TERM INT
exec 3<&0
head -c "$n" <&3 > /tmp/quorumbench & wait $!
exec 3<&-
test "$(wc -c < /tmp/quorumbench)" -eq "$n"
chmod 755 /tmp/quorumbench
echo '` + copiedLine + `'
case " $machines " in *" $(uname -m) "*) ;; *) exit 126 ;; esac
trap - TERM INT
exec /tmp/quorumbench "$@"`

// copiedLine is the first line that the container writes.
const copiedLine = stderrMark + "quorumbench: the program was copied into the pod"

// attachProtocol is the name of the protocol for the streams of a container.
const attachProtocol = "v4.channel.k8s.io"

// copyTimeout is the maximum time for copying a program into a pod.
const copyTimeout = 2 * time.Minute

// copyProgram writes a file to the standard input of a pod's container, and waits until the
// container has received it.
func (a *api) copyProgram(ctx context.Context, pod, file string) error {
	bound, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- a.sendProgram(bound, pod, file) }() // a goroutine is necessary because SPDY does not support contexts
	var err error
	select {
	case err = <-done:
	case <-bound.Done():
		err = context.Cause(bound)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("cannot copy this program into the pod: %w; with --image, give an image that contains it", err)
	}
	return nil
}

func (a *api) sendProgram(ctx context.Context, pod, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the file was only read
	endpoint := a.path("pods", pod, "attach")
	endpoint.RawQuery = url.Values{"container": {checkRole}, "stdin": {"true"}, "stdout": {"true"}}.Encode()
	c, err := a.dialSPDY(ctx, endpoint, attachProtocol)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // the container has received everything, or err states why not
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	streams := map[string]httpstream.Stream{}
	for _, kind := range []string{"error", "stdin", "stdout"} {
		headers := http.Header{}
		headers.Set("streamType", kind)
		if streams[kind], err = c.CreateStream(headers); err != nil {
			return err
		}
	}
	received := make(chan error, 2)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(streams["error"], maxTextBytes)) // an empty text means that the connection ended
		received <- errors.New(statusText("the connection ended " + string(b)))
	}()
	go func() {
		if _, err := streams["stdout"].Read(make([]byte, len(copiedLine))); err == nil {
			received <- nil
		}
	}()
	_, err = io.Copy(streams["stdin"], f)
	if err := errors.Join(err, streams["stdin"].Close()); err != nil {
		return err
	}
	return <-received
}
