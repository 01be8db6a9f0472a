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
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

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
