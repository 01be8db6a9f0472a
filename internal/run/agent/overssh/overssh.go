// Package overssh starts an agent on another machine over ssh, and leads to it: our
// own binary is copied there, works in a private folder at a Unix socket, and is
// removed with all that it brought.
//
// One session carries it all. Its shell makes the folder, takes the binary from
// standard input, starts the agent, and removes the folder when the agent has ended,
// so that nothing needs us to be there. The session's standard input is the agent's
// lifeline.
package overssh

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/user"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Target is a machine to be reached.
type Target struct {
	Name    string // as errors call it
	User    string // empty: as we are called here
	Address string // HOST:PORT of its ssh server, or HOST: the port is then ssh's
	Dir     string // absolute; see Machine
	Binary  string // the path of our own
	Access  Access
	Within  time.Duration // a bound for each step, and for a copy that stands still; zero: 20 s
	// Copying is called when our binary, of so many bytes, begins to be copied; nil for
	// nobody.
	Copying func(bytes int64)
}

// Machine is one with an agent that we started. Members' data and logs are in the
// target's Dir, where they stay; without one in the private folder, which is removed.
// It is an agent.Way.
type Machine struct {
	target  Target
	client  *ssh.Client
	session *ssh.Session
	in      io.WriteCloser
	lines   chan string   // of its standard output; closed at its end
	said    tail          // on standard error
	ended   chan struct{} // the session's shell has
	exit    error         // how; written before ended is closed
	folder  string        // the private one, once it is there
	closing sync.Once
}

// removing is how many times a step's bound the other machine may take to remove what
// was brought, data too.
const removing = 3

// Reach connects to a machine, copies our binary and starts an agent. The error is
// one sentence. Nothing is left there if it fails, or when ctx ends before.
func Reach(ctx context.Context, t Target) (*Machine, error) {
	t.Within = cmp.Or(t.Within, 20*time.Second)
	m := &Machine{target: t, lines: make(chan string, 64), ended: make(chan struct{})}
	err := m.connect(ctx)
	if err == nil {
		err = m.begin(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", t.Name, err)
	}
	return m, nil
}

// connect opens the connection: the machine has shown a key that we know, and taken
// one of ours.
func (m *Machine) connect(ctx context.Context) error {
	t := &m.target
	config, keys, err := t.Access.config(t)
	if err != nil {
		return err
	}
	defer keys.close()
	within, cancel := context.WithTimeout(ctx, t.Within)
	defer cancel()
	socket, err := (&net.Dialer{}).DialContext(within, "tcp", t.Address)
	if err != nil {
		return fmt.Errorf("it cannot be reached over ssh: %w", err)
	}
	stop := context.AfterFunc(within, func() { _ = socket.Close() })
	defer stop()
	conn, channels, requests, err := ssh.NewClientConn(socket, t.Address, config)
	if err == nil && stop() {
		m.client = ssh.NewClient(conn, channels, requests)
		return nil
	}
	_ = socket.Close() // the error that matters is why
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case within.Err() != nil:
		return fmt.Errorf("%s does not answer as an ssh server within %v", t.Address, t.Within)
	}
	return keys.refused(t, config.User, err)
}

// begin has the agent started.
func (m *Machine) begin(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			_ = m.Close() // the error that matters is the first
		}
	}()
	if err := m.start(); err != nil {
		return err
	}
	if err = m.bring(ctx); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// start opens the session and runs the script in it.
func (m *Machine) start() (err error) {
	// A machine that stops answering is found by the deadline alone: ssh has none.
	late := time.AfterFunc(m.target.Within, func() { _ = m.client.Close() })
	defer late.Stop()
	size, err := sizeOf(m.target.Binary)
	if err != nil {
		return err
	}
	if m.session, err = m.client.NewSession(); err != nil {
		return fmt.Errorf("it opens no session: %w", err)
	}
	m.session.Stderr = &m.said
	out, err := m.session.StdoutPipe()
	if err != nil {
		return err
	}
	if m.in, err = m.session.StdinPipe(); err != nil {
		return err
	}
	if err := m.session.Start(command(m.target.Dir, size)); err != nil {
		close(m.ended) // there is no shell to wait for
		switch {
		case !late.Stop():
			return fmt.Errorf("it starts no shell within %v", m.target.Within)
		case strings.HasPrefix(err.Error(), "ssh: command "): // and the whole script
			return errors.New("it starts no shell: its ssh server refuses to run a command")
		}
		return fmt.Errorf("it starts no shell: %w", err)
	}
	go func() {
		m.exit = m.session.Wait()
		close(m.ended)
	}()
	go m.listen(out)
	return nil
}

// listen takes the lines of standard output, until the shell has ended.
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

// answer is what follows a word that begins a line. Others, as of a shell's
// profile, are passed over.
func (m *Machine) answer(ctx context.Context, word string) (string, error) {
	late := time.NewTimer(m.target.Within)
	defer late.Stop()
	for {
		select {
		case line, ok := <-m.lines:
			if !ok {
				return "", m.early(late.C)
			}
			if rest, found := strings.CutPrefix(line, word); found {
				return strings.TrimSpace(rest), nil
			}
		case <-late.C:
			return "", fmt.Errorf("its shell does not answer within %v", m.target.Within)
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// early is why the shell ended before it should.
func (m *Machine) early(late <-chan time.Time) error {
	select {
	case <-m.ended:
	case <-late:
		return fmt.Errorf("its shell does not end within %v after its last word", m.target.Within)
	}
	if last := m.said.last(); last != "" {
		return fmt.Errorf("no agent could be started: %s", last)
	}
	return fmt.Errorf("no agent could be started: its shell ended (%w)", cmp.Or(m.exit, errors.New("without an error")))
}

// Dial implements agent.Way.
func (m *Machine) Dial(ctx context.Context) (net.Conn, error) {
	c, err := m.client.DialContext(ctx, "unix", m.socket())
	var refused *ssh.OpenChannelError
	switch {
	case errors.As(err, &refused):
		return nil, fmt.Errorf("its ssh server does not lead to the agent's socket (%s): its sshd_config must allow AllowStreamLocalForwarding, and not DisableForwarding", text.Line(refused.Message, 100))
	case err != nil:
		return nil, fmt.Errorf("the ssh connection was lost: %w", err)
	}
	return c, nil
}

func (m *Machine) socket() string { return m.folder + "/agent.sock" }

// Close implements agent.Way: it waits until the agent has ended and what was
// brought is removed. It can be called again.
func (m *Machine) Close() (err error) {
	m.closing.Do(func() {
		if m.in != nil {
			_ = m.in.Close() // a connection that is lost is so in ended, too
			err = m.removed()
		}
		_ = m.client.Close() // nothing is left to be said
	})
	return err
}

// removed waits until the shell has ended.
func (m *Machine) removed() error {
	within := removing * m.target.Within
	late := time.NewTimer(within)
	defer late.Stop()
	var lost *ssh.ExitMissingError
	select {
	case <-m.ended:
		if errors.As(m.exit, &lost) {
			return fmt.Errorf("host %s: the connection was lost before what was brought was removed; it is removed there when the agent's lease is over", m.target.Name)
		}
		return nil
	case <-late.C:
		return fmt.Errorf("host %s: what was brought was not removed within %v: look at %s there", m.target.Name, within, m.folder)
	}
}

// login is the user that we are there.
func (t *Target) login() (string, error) {
	if t.User != "" {
		return t.User, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("the user's name is not known: write USER@HOST: %w", err)
	}
	return u.Username, nil
}

// tail keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	end []byte
}

// mostSaid is how much of it is kept, in bytes.
const mostSaid = 4096

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	t.end = t.end[max(0, len(t.end)-mostSaid):]
	return len(p), nil
}

// last is the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.end)), "\n")
	return text.Line(lines[len(lines)-1], text.OfServer)
}

// ours is the system that our binary is for.
const ours = runtime.GOOS + "/" + runtime.GOARCH
