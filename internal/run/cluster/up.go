package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Up starts a playground in spec.Dir, or in DefaultDir if that is empty. It returns when the
// playground is ready. The members always run on the local machine, whatever hosts the spec
// contains, and outlive this process. The error is ErrAlreadyRunning if the folder already contains
// a playground, and ErrForeign if it contains something else or if other users can write to it. If
// Up fails, no process is left. If a member exited or the members were not ready in time, the error
// contains the end of their logs.
func Up(ctx context.Context, h *host.Local, st store.Store, spec Spec, now time.Time) (*Playground, store.Status, error) {
	if spec.Dir == "" {
		dir, err := DefaultDir(st.Name())
		if err != nil {
			return nil, store.Status{}, err
		}
		spec.Dir = dir
	}
	if err := spec.complete(); err != nil {
		return nil, store.Status{}, err
	}
	if err := checkVacant(spec.Dir); err != nil {
		return nil, store.Status{}, err
	}
	var err error
	for range portAttempts {
		p := &Playground{Schema: stateSchema, Store: st.Name(), Dir: spec.Dir, Started: now.UTC()}
		var status store.Status
		if status, err = p.tryStart(ctx, h, st, spec); err == nil {
			return p, status, nil
		}
		var failed *startError
		if !errors.As(err, &failed) || !failed.portInUse() {
			break
		}
	}
	return nil, store.Status{}, err
}

// checkVacant returns nil if a playground can be started in the folder, and otherwise the reason.
func checkVacant(dir string) error {
	p, err := Load(dir)
	switch {
	case errors.Is(err, ErrNoPlayground):
		return nil
	case err != nil:
		return err
	}
	if err := p.CheckHere(); err != nil {
		return fmt.Errorf("%w: %w; use another folder", ErrAlreadyRunning, err)
	}
	s := p.findProcesses()
	defer s.release()
	if len(s.runningMembers) == 0 {
		return fmt.Errorf("%w, but none of its members is running; first remove the remains in %s with `cluster down`", ErrAlreadyRunning, dir)
	}
	return fmt.Errorf("%w: %d of %d members of the %s cluster in %s are running, at %s; first stop the cluster with `cluster down`",
		ErrAlreadyRunning, len(s.runningMembers), len(p.Members), p.Store, dir, strings.Join(p.Endpoints(), ","))
}

// tryStart makes one attempt to start the playground. It records each member in the state file
// before the start of the member, and the member's processes directly after their start. Therefore
// Down finds all of them even if we are killed between two of these steps.
func (p *Playground) tryStart(ctx context.Context, h *host.Local, st store.Store, spec Spec) (_ store.Status, err error) {
	folder, err := p.create()
	if err != nil {
		return store.Status{}, err
	}
	defer folder.Close()
	var processes []startedProcess
	defer func() {
		if err != nil {
			err = p.discard(folder, processes, err)
		}
	}()
	lease, err := h.Ports(ctx, spec.Members*store.PortsPerMember)
	if err != nil {
		return store.Status{}, err
	}
	defer lease.Release()
	var members []kv.MemberPlace
	for i := range spec.Members {
		members = append(members, memberPlace(i, p.Dir, lease.Address, lease.Ports[i*store.PortsPerMember:]))
	}
	launch, err := st.Launch(launchSpec(spec, filepath.Base(p.Dir), members))
	if err != nil {
		return store.Status{}, err
	}
	if err := p.placeMembers(folder, launch.Processes); err != nil {
		return store.Status{}, err
	}
	for i, command := range launch.Processes {
		started, err := p.startMember(ctx, h, folder, &p.Members[i], command)
		processes = append(processes, started...)
		if err != nil {
			return store.Status{}, err
		}
	}
	status, err := p.awaitReady(ctx, st, launch.StartTimeout, processes)
	if err != nil {
		return status, err
	}
	p.Starter = nil
	return status, p.save(folder)
}

// placeMembers records the members and creates their folders.
func (p *Playground) placeMembers(folder *host.Folder, commands []store.Process) error {
	for _, c := range commands {
		p.Members = append(p.Members, PlaygroundMember{Name: c.Name, Endpoint: c.Endpoint, DataDir: c.DataDir, LogFile: c.LogFile})
	}
	if err := p.save(folder); err != nil {
		return err
	}
	for i := range p.Members {
		id, err := folder.CreateFolder(p.Members[i].Name)
		if err != nil {
			return fmt.Errorf("cannot create the folder for member %s in %s: %w", p.Members[i].Name, p.Dir, host.Cause(err))
		}
		p.Members[i].Folder = id
	}
	return p.save(folder)
}

// startMember starts the processes of a member, and saves the state after each start. Even if it
// fails, it returns the processes that it has started.
func (p *Playground) startMember(ctx context.Context, h *host.Local, folder *host.Folder, m *PlaygroundMember, command store.Process) (started []startedProcess, err error) {
	for _, c := range append(slices.Clone(command.Backends), command) {
		process, err := startProcess(ctx, h, c, p.Mark.Env(), nil)
		if err != nil {
			return started, err
		}
		started = append(started, startedProcess{name: c.Name, Process: process})
		if len(started) > len(command.Backends) {
			m.Process = process.Identity()
		} else {
			m.Backends = append(m.Backends, PlaygroundBackend{Name: c.Name, Endpoint: c.Endpoint, Process: process.Identity()})
		}
		if err := p.save(folder); err != nil {
			return started, err
		}
	}
	return started, nil
}

func (p *Playground) awaitReady(ctx context.Context, st store.Store, timeout time.Duration, processes []startedProcess) (store.Status, error) {
	admin, err := st.Admin(p.access())
	if err != nil {
		return store.Status{}, err
	}
	status, err := poll(ctx, admin, timeout, processes)
	if closing := admin.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return status, fmt.Errorf("the %s cluster did not start: %w", p.Store, err)
	}
	return status, nil
}

// UndoError reports that a start failed and that some of its effects could not be undone.
type UndoError struct {
	Cause      error // reason why the start failed
	RemovalErr error // what remains, and why it could not be removed
}

func (e *UndoError) Error() string   { return fmt.Sprintf("%v; and %v", e.Cause, e.RemovalErr) }
func (e *UndoError) Unwrap() []error { return []error{e.Cause, e.RemovalErr} }

// discard undoes a failed start and returns the reason for the failure. It also removes the logs. If
// a member exited, cause contains the last lines of its log. If the members were not ready in time,
// discard adds the last lines of all logs to the reason.
func (p *Playground) discard(folder *host.Folder, processes []startedProcess, cause error) error {
	for _, process := range processes {
		_ = process.Signal(context.Background(), host.Kill)
	}
	for _, process := range processes {
		select {
		case <-process.Exited():
		case <-time.After(killTimeout):
			return &UndoError{cause, fmt.Errorf("process %d was killed but has not exited", process.Identity().PID)}
		}
	}
	if errors.Is(cause, errNotReady) {
		for _, process := range processes {
			cause = fmt.Errorf("%w; the last lines of the log of member %s are: %s", cause, process.name, lastLines(process.Exit().Tail))
		}
	}
	if err := p.remove(folder); err != nil {
		return &UndoError{cause, err}
	}
	return cause
}
