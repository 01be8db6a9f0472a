package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Limits of a single request to a host.
const (
	mostPaths  = 1000
	mostWrites = 100_000
)

// serveHost executes the stream's first request, and later requests about its subject.
func (s *Server) serveHost(ctx context.Context, now *session, st *stream) error {
	r, err := receiveJSON[request](st)
	if err != nil {
		return err
	}
	switch r.Do {
	case start:
		err = s.serveProcess(ctx, now, st, r.Command)
	case ports:
		err = s.servePorts(ctx, st, r.Count)
	case claim:
		err = s.serveClaim(ctx, now, st, r.Path)
	case follow:
		err = s.serveLogs(ctx, st, r.Paths)
	case copyLog:
		err = s.serveCopy(ctx, st, r.Path)
	case onDisk:
		err = s.serveDisk(ctx, now, st, r.Path)
	default:
		var a reply
		if a, err = s.answer(ctx, now, &r); err == nil {
			err = sendJSON(st, a)
		}
	}
	if err != nil {
		return sendJSON(st, reply{Error: err.Error()})
	}
	return nil
}

// answer executes a request that has a single reply.
func (s *Server) answer(ctx context.Context, now *session, r *request) (a reply, err error) {
	paths := r.Paths
	if r.Path != "" || r.Do == makeDir || r.Do == writeFile {
		paths = append(slices.Clone(paths), r.Path)
	}
	if err := s.folder.checkAll(paths); err != nil {
		return a, err
	}
	switch r.Do {
	case describe:
		d, err := s.host.Describe(ctx)
		d.Folder = now.files.path
		return reply{Description: &d}, err
	case makeDir:
		if err := now.files.open(); err != nil {
			return a, err
		}
		return a, s.host.MakeDir(ctx, r.Path)
	case writeFile:
		return a, s.putFile(ctx, now, r)
	case fsync:
		if r.Count > mostWrites || len(r.Paths) > mostPaths {
			return a, fmt.Errorf("a request can measure fdatasync with at most %d writes in at most %d folders", mostWrites, mostPaths)
		}
		a.Fsync, err = s.host.Fsync(ctx, r.Paths, r.Count)
		return a, err
	case sample:
		if len(r.PIDs) > mostPaths {
			return a, fmt.Errorf("a request can sample at most %d processes", mostPaths)
		}
		got, err := s.host.Sample(ctx, r.PIDs, r.Machine)
		return reply{Sample: &got}, err
	case weigh:
		if len(r.Paths) > mostPaths {
			return a, fmt.Errorf("a request can measure at most %d folders", mostPaths)
		}
		a.Sizes, a.Cost, err = s.host.Weigh(ctx, r.Paths)
		return a, err
	case empty:
		e, ok := s.host.(host.Emptier)
		if !ok || !now.claims(r.Path) {
			return a, fmt.Errorf("the folder %s is not in a data folder of this session, so the agent does not empty it", text.Line(r.Path, longestPath))
		}
		return a, e.Empty(ctx, r.Path)
	case launch, renew:
		switch {
		case r.Launch == nil:
			return a, errors.New("the request contains no launch description")
		case r.Do == renew:
			return a, s.renew(ctx, now, r.Launch)
		}
		return a, s.launchable(r.Launch)
	}
	return a, fmt.Errorf("unknown host request %q", r.Do)
}

// putFile writes a file for the controller if the controller is allowed to write this file.
func (s *Server) putFile(ctx context.Context, now *session, r *request) error {
	if r.Path == string(s.folder) { // the temporary file would be outside the folder
		return fmt.Errorf("the agent cannot write a file at %s, because that is its own folder; specify a file inside the folder", s.folder)
	}
	if now.everClaimed(r.Path) { // the file could be configuration or a class that a member executes
		return fmt.Errorf("the file %s is in a data folder, where only the agent writes members' files", text.Line(r.Path, longestPath))
	}
	if err := now.files.open(); err != nil {
		return err
	}
	return s.host.WriteFile(ctx, r.Path, r.Contents)
}

// serveProcess starts a process and forwards signals until it has exited. If the stream ends first,
// the process continues until the session ends.
func (s *Server) serveProcess(ctx context.Context, now *session, st *stream, c *host.Command) error {
	if c == nil {
		return errors.New("the request contains no command")
	}
	command, files, err := s.launch(*c, now.folders())
	if err != nil {
		return err
	}
	if err := writeFiles(ctx, s.host, files); err != nil {
		return err
	}
	p, err := s.host.Start(ctx, command)
	if err != nil {
		return err
	}
	if !now.hold(p) {
		_ = p.Signal(context.Background(), host.Kill) // the session has ended and will not kill the process
		<-p.Exited()
		return errors.New("the session has ended")
	}
	id := p.Identity()
	if err := sendJSON(st, reply{Process: &id}); err != nil {
		return nil
	}
	go func() {
		for {
			r, err := receiveJSON[request](st)
			if err != nil {
				return
			}
			if err := s.signalProcess(ctx, p, &r); err != nil {
				_ = sendJSON(st, reply{Error: err.Error()}) // a controller that has disconnected needs no reply
			} else {
				_ = sendJSON(st, reply{})
			}
		}
	}()
	select {
	case <-p.Exited():
		exit := p.Exit()
		_ = sendJSON(st, reply{Exit: &exit})
	case <-ctx.Done():
	}
	return nil
}

// signalProcess sends a signal to a process.
func (s *Server) signalProcess(ctx context.Context, p host.Process, r *request) error {
	if r.Do != signal || r.Signal > host.Resume {
		return errors.New("only SIGTERM, SIGKILL, SIGSTOP and SIGCONT can be sent to a process")
	}
	return p.Signal(ctx, r.Signal)
}

// servePorts leases ports until the stream ends.
func (s *Server) servePorts(ctx context.Context, st *stream, count int) error {
	lease, err := s.host.Ports(ctx, count)
	if err != nil {
		return err
	}
	defer lease.Release()
	if err := sendJSON(st, reply{Address: lease.Address, Ports: lease.Ports}); err != nil {
		return nil
	}
	_, _ = st.Receive() // no message follows; the lease ends with the stream
	return nil
}

// serveClaim claims a folder. If the stream ends without a release, the folder remains.
func (s *Server) serveClaim(ctx context.Context, now *session, st *stream, parent string) error {
	if err := s.folder.check(parent); err != nil {
		return err
	}
	if err := now.files.open(); err != nil {
		return err
	}
	c, err := s.host.Claim(ctx, parent)
	if err != nil {
		return err
	}
	now.claimed(c)
	if err := sendJSON(st, reply{Path: c.Path(), Env: c.Env()}); err != nil {
		return nil
	}
	for {
		r, err := receiveJSON[request](st)
		if err != nil {
			return nil
		}
		switch {
		case r.Do == release:
			now.released(c.Path())
			if err := c.Release(ctx); err != nil {
				return err
			}
			return sendJSON(st, reply{})
		case r.Do == note && r.Process != nil:
			if err := c.Note(ctx, *r.Process); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown request %q about a claimed folder", r.Do)
		}
		if err := sendJSON(st, reply{}); err != nil {
			return nil
		}
	}
}

// serveLogs sends the new lines of files for each request.
func (s *Server) serveLogs(ctx context.Context, st *stream, paths []string) error {
	if err := s.folder.checkAll(paths); err != nil {
		return err
	}
	if len(paths) > mostPaths {
		return fmt.Errorf("a request can follow at most %d files", mostPaths)
	}
	logs, err := s.host.Follow(ctx, paths)
	if err != nil {
		return err
	}
	defer func() { _ = logs.Close() }() // they were only read
	for err := sendJSON(st, reply{}); err == nil; {
		if _, err := receiveJSON[request](st); err != nil {
			return nil
		}
		lines, more, failed := logs.Read(ctx)
		if failed != nil {
			return failed
		}
		err = sendJSON(st, reply{Lines: lines, More: more})
	}
	return nil
}

// serveCopy copies a log in several messages. The field More is set in all messages except the
// last.
func (s *Server) serveCopy(ctx context.Context, st *stream, path string) error {
	if err := s.folder.check(path); err != nil {
		return err
	}
	left, err := s.host.CopyLog(ctx, path, pieces{st})
	if err != nil {
		return err
	}
	return sendJSON(st, reply{Left: left})
}

// pieces is an io.Writer that sends each write as a message.
type pieces struct{ to *stream }

// Write implements io.Writer.
func (p pieces) Write(b []byte) (int, error) {
	if err := sendJSON(p.to, reply{Text: b, More: true}); err != nil {
		return 0, err
	}
	return len(b), nil
}
