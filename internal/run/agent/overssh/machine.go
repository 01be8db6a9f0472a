package overssh

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Machine is a machine on which we started an agent. It implements agent.Transport. Members' data
// and logs remain in the target's Dir. If Dir is empty, they are stored in the private folder,
// which is removed.
type Machine struct {
	target     Target
	client     *ssh.Client
	session    *ssh.Session
	in         io.WriteCloser
	lines      chan string   // lines of the shell's standard output; closed at its end
	stderrTail tail          // the end of the shell's standard error
	ended      chan struct{} // closed when the session's shell has exited
	exitErr    error         // the shell's result; written before the channel `ended` is closed
	folder     string        // path of the private folder, once it exists
	closeOnce  sync.Once
}

// removalFactor limits how long the other machine may take to remove the copied files and data, as
// a multiple of the time limit of a step.
const removalFactor = 3

// listen reads the lines of standard output until the shell has exited.
func (m *Machine) listen(out io.Reader) {
	defer close(m.lines)
	in := bufio.NewScanner(out)
	for in.Scan() {
		select {
		case m.lines <- in.Text():
		case <-m.ended:
			return
		}
	}
}

// answer waits for a line that begins with the given prefix, and returns the rest of this line. It
// ignores other lines, which may come from a shell's profile.
func (m *Machine) answer(ctx context.Context, prefix string) (string, error) {
	timer := time.NewTimer(m.target.StepTimeout)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-m.lines:
			if !ok {
				return "", m.earlyExitError(timer.C)
			}
			if rest, found := strings.CutPrefix(line, prefix); found {
				return strings.TrimSpace(rest), nil
			}
		case <-timer.C:
			return "", fmt.Errorf("the machine's shell did not respond within %v", m.target.StepTimeout)
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// earlyExitError returns the reason why the shell exited too early.
func (m *Machine) earlyExitError(timeout <-chan time.Time) error {
	select {
	case <-m.ended:
	case <-timeout:
		return fmt.Errorf("the machine's shell did not exit within %v after its last output", m.target.StepTimeout)
	}
	if last := m.stderrTail.last(); last != "" {
		return fmt.Errorf("no agent could be started: %s", last)
	}
	return fmt.Errorf("no agent could be started: the machine's shell exited (%w)", cmp.Or(m.exitErr, errors.New("without an error")))
}

// Dial implements agent.Transport.
func (m *Machine) Dial(ctx context.Context) (net.Conn, error) {
	c, err := m.client.DialContext(ctx, "unix", m.socket())
	var refused *ssh.OpenChannelError
	switch {
	case errors.As(err, &refused):
		return nil, fmt.Errorf("the machine's ssh server does not forward connections to the agent's socket (%s); in its sshd_config, set AllowStreamLocalForwarding and remove DisableForwarding", text.Line(refused.Message, 100))
	case err != nil:
		return nil, fmt.Errorf("the ssh connection was lost: %w", err)
	}
	return c, nil
}

func (m *Machine) socket() string { return m.folder + "/agent.sock" }

// Close implements agent.Transport. It waits until the agent has exited and the copied files are
// removed. It may be called more than once.
func (m *Machine) Close() (err error) {
	m.closeOnce.Do(func() {
		if m.in != nil {
			_ = m.in.Close() // if the connection was lost, the channel m.ended is closed as well
			err = m.awaitRemoval()
		}
		_ = m.client.Close() // the session has ended
	})
	return err
}

// awaitRemoval waits until the shell has exited. The shell exits after it has removed the copied
// files.
func (m *Machine) awaitRemoval() error {
	timeout := removalFactor * m.target.StepTimeout
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var missingStatus *ssh.ExitMissingError
	select {
	case <-m.ended:
		if errors.As(m.exitErr, &missingStatus) {
			return fmt.Errorf("host %s: the connection was lost before the copied files were removed; the host removes them when the agent's lease is over", m.target.Name)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("host %s: the copied files were not removed within %v; check the folder %s on the host", m.target.Name, timeout, m.folder)
	}
}

// tail is an io.Writer that keeps the end of its input.
type tail struct {
	mu  sync.Mutex
	end []byte
}

// maxTailBytes is the maximum number of bytes that tail keeps.
const maxTailBytes = 4096

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	t.end = t.end[max(0, len(t.end)-maxTailBytes):]
	return len(p), nil
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.end)), "\n")
	return text.Line(lines[len(lines)-1], text.MaxServerText)
}
