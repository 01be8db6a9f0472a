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
	maxPaths  = 1000
	maxWrites = 100_000
)

// serveHost executes the stream's first request, and later requests about its subject.
func (s *Server) serveHost(ctx context.Context, current *session, st *stream) error {
	r, err := receiveJSON[request](st)
	if err != nil {
		return err
	}
	switch r.Action {
	case startAction:
		err = s.serveProcess(ctx, current, st, r.Command)
	case portsAction:
		err = s.servePorts(ctx, st, r.Count)
	case claimAction:
		err = s.serveClaim(ctx, current, st, r.Path)
	case followAction:
		err = s.serveLogs(ctx, st, r.Paths)
	case copyLogAction:
		err = s.serveCopy(ctx, st, r.Path)
	case serveDiskAction:
		err = s.serveDisk(ctx, current, st, r.Path)
	case writeLogAction:
		err = s.serveWrites(ctx, current, st, &r)
	case echoAction:
		err = s.serveEcho(ctx, st)
	default:
		var a reply
		if a, err = s.answer(ctx, current, &r); err == nil {
			err = sendJSON(st, a)
		}
	}
	if err != nil {
		return sendJSON(st, reply{Error: err.Error()})
	}
	return nil
}

// answer executes a request that has a single reply.
func (s *Server) answer(ctx context.Context, current *session, r *request) (a reply, err error) {
	paths := r.Paths
	if r.Path != "" || r.Action == makeDirAction || r.Action == writeFileAction {
		paths = append(slices.Clone(paths), r.Path)
	}
	if err := s.folder.checkAll(paths); err != nil {
		return a, err
	}
	switch r.Action {
	case describeAction:
		d, err := s.host.Describe(ctx)
		d.Folder = current.files.path
		return reply{Description: &d}, err
	case makeDirAction:
		if err := current.files.open(); err != nil {
			return a, err
		}
		return a, s.host.MakeDir(ctx, r.Path)
	case writeFileAction:
		return a, s.putFile(ctx, current, r)
	case fsyncAction:
		if r.Count > maxWrites || len(r.Paths) > maxPaths {
			return a, fmt.Errorf("a request can measure fdatasync with at most %d writes in at most %d folders", maxWrites, maxPaths)
		}
		a.Fsync, err = s.host.Fsync(ctx, r.Paths, r.Count)
		return a, err
	case sampleAction:
		if len(r.PIDs) > maxPaths {
			return a, fmt.Errorf("a request can sample at most %d processes", maxPaths)
		}
		got, err := s.host.Sample(ctx, r.PIDs, r.Machine)
		return reply{Sample: &got}, err
	case measureFoldersAction:
		if len(r.Paths) > maxPaths {
			return a, fmt.Errorf("a request can measure at most %d folders", maxPaths)
		}
		a.Sizes, a.Cost, err = s.host.MeasureFolders(ctx, r.Paths)
		return a, err
	case limitsAction, roundTripsAction:
		return s.answerSurvey(ctx, current, r)
	case emptyAction:
		if !current.hasClaimed(r.Path) {
			return a, fmt.Errorf("the folder %s is not in a data folder of this session, so the agent does not empty it", text.Line(r.Path, maxPathBytes))
		}
		return a, s.host.Empty(ctx, r.Path)
	case checkLaunchAction, renewAction:
		switch {
		case r.Launch == nil:
			return a, errors.New("the request contains no launch description")
		case r.Action == renewAction:
			return a, s.renew(ctx, current, r.Launch)
		}
		return a, s.checkLaunch(r.Launch)
	}
	return a, fmt.Errorf("unknown host request %q", r.Action)
}

// putFile writes a file for the controller if the controller is allowed to write this file.
func (s *Server) putFile(ctx context.Context, current *session, r *request) error {
	if r.Path == string(s.folder) { // the temporary file would be outside the folder
		return fmt.Errorf("the agent cannot write a file at %s, because that is its own folder; specify a file inside the folder", s.folder)
	}
	if current.hasEverClaimed(r.Path) { // the file could be a member's configuration, or a Java class that a member executes
		return fmt.Errorf("the file %s is in a data folder, where only the agent writes members' files", text.Line(r.Path, maxPathBytes))
	}
	if err := current.files.open(); err != nil {
		return err
	}
	return s.host.WriteFile(ctx, r.Path, r.Contents)
}

// serveProcess starts a process and forwards signals until it has exited. If the stream ends first,
// the process continues until the session ends.
func (s *Server) serveProcess(ctx context.Context, current *session, st *stream, c *host.Command) error {
	if c == nil {
		return errors.New("the request contains no command")
	}
	command, files, err := s.launch(*c, current.claimMarks())
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
	if !current.addProcess(p) {
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
	if r.Action != signalAction || r.Signal > host.Resume {
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
func (s *Server) serveClaim(ctx context.Context, current *session, st *stream, parent string) error {
	if err := s.folder.check(parent); err != nil {
		return err
	}
	if err := current.files.open(); err != nil {
		return err
	}
	c, err := s.host.Claim(ctx, parent)
	if err != nil {
		return err
	}
	current.addClaim(c)
	if err := sendJSON(st, reply{Path: c.Path(), Env: c.Env()}); err != nil {
		return nil
	}
	for {
		r, err := receiveJSON[request](st)
		if err != nil {
			return nil
		}
		switch {
		case r.Action == releaseAction:
			current.removeClaim(c.Path())
			if err := c.Release(ctx); err != nil {
				return err
			}
			return sendJSON(st, reply{})
		case r.Action == noteProcessAction && r.Process != nil:
			if err := c.Note(ctx, *r.Process); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown request %q about a claimed folder", r.Action)
		}
		if err := sendJSON(st, reply{}); err != nil {
			return nil
		}
	}
}

// serveLogs follows files until the stream ends. It replies to each request with new lines of the
// files.
func (s *Server) serveLogs(ctx context.Context, st *stream, paths []string) error {
	if err := s.folder.checkAll(paths); err != nil {
		return err
	}
	if len(paths) > maxPaths {
		return fmt.Errorf("a request can follow at most %d files", maxPaths)
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
		err = sendJSON(st, reply{Lines: lines, HasMore: more})
	}
	return nil
}

// serveCopy copies a log in several messages. The field HasMore is set in all messages except the
// last.
func (s *Server) serveCopy(ctx context.Context, st *stream, path string) error {
	if err := s.folder.check(path); err != nil {
		return err
	}
	left, err := s.host.CopyLog(ctx, path, messageWriter{st})
	if err != nil {
		return err
	}
	return sendJSON(st, reply{OmittedBytes: left})
}

// messageWriter is an io.Writer that sends each write as a message.
type messageWriter struct{ stream *stream }

// Write implements io.Writer.
func (p messageWriter) Write(b []byte) (int, error) {
	if err := sendJSON(p.stream, reply{Text: b, HasMore: true}); err != nil {
		return 0, err
	}
	return len(b), nil
}
