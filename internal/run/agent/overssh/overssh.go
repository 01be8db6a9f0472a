// Package overssh starts an agent on another machine over ssh and connects to it. It copies our
// binary to a private folder on that machine, in which the agent listens at a Unix socket.
// Afterwards it removes the folder with all its contents.
//
// One ssh session does all of this. The session's shell creates the folder, reads the binary from
// standard input, starts the agent, and removes the folder when the agent has exited, so that
// cleaning up does not depend on us. The session's standard input is the agent's lifeline.
package overssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Reach connects to a machine, copies our binary and starts an agent. The error is one sentence. If
// Reach fails or ctx is canceled first, nothing remains on the machine.
func Reach(ctx context.Context, t Target) (*Machine, error) {
	t.StepTimeout = cmp.Or(t.StepTimeout, 20*time.Second)
	m := &Machine{target: t, lines: make(chan string, 64), ended: make(chan struct{})}
	err := m.connect(ctx)
	if err == nil {
		err = m.startAgent(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", t.Name, err)
	}
	return m, nil
}

// connect opens a connection. It succeeds only if the machine presents a known host key and accepts
// one of our keys.
func (m *Machine) connect(ctx context.Context) error {
	t := &m.target
	config, keys, err := t.Access.config(t)
	if err != nil {
		return err
	}
	defer keys.close()
	limited, cancel := context.WithTimeout(ctx, t.StepTimeout)
	defer cancel()
	socket, err := (&net.Dialer{}).DialContext(limited, "tcp", t.Address)
	if err != nil {
		return fmt.Errorf("cannot connect over ssh: %w", err)
	}
	stop := context.AfterFunc(limited, func() { _ = socket.Close() })
	defer stop()
	conn, channels, requests, err := ssh.NewClientConn(socket, t.Address, config)
	if err == nil && stop() {
		m.client = ssh.NewClient(conn, channels, requests)
		return nil
	}
	_ = socket.Close() // err is more important
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return fmt.Errorf("%s did not respond as an ssh server within %v", t.Address, t.StepTimeout)
	}
	return keys.explainRefusal(t, config.User, err)
}

// startAgent starts the agent.
func (m *Machine) startAgent(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			_ = m.Close() // the first error is more important
		}
	}()
	if err := m.start(); err != nil {
		return err
	}
	if err = m.installAgent(ctx); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// start opens the session and runs the script in it.
func (m *Machine) start() (err error) {
	// ssh has no timeout of this kind: only this timer detects a machine that stops responding.
	startTimer := time.AfterFunc(m.target.StepTimeout, func() { _ = m.client.Close() })
	defer startTimer.Stop()
	size, err := binarySize(m.target.Binary)
	if err != nil {
		return err
	}
	if m.session, err = m.client.NewSession(); err != nil {
		return fmt.Errorf("the ssh server refused to open a session: %w", err)
	}
	m.session.Stderr = &m.stderrTail
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
		case !startTimer.Stop():
			return fmt.Errorf("the ssh server did not start a shell within %v", m.target.StepTimeout)
		case strings.HasPrefix(err.Error(), "ssh: command "): // the rest of the message is the whole script
			return errors.New("the ssh server refuses to run commands")
		}
		return fmt.Errorf("the ssh server did not start a shell: %w", err)
	}
	go func() {
		m.exitErr = m.session.Wait()
		close(m.ended)
	}()
	go m.listen(out)
	return nil
}
