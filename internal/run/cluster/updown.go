package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Up starts a playground in spec.Dir (DefaultDir when that is empty) and
// returns when it is ready. Its members live on after this process. The error
// is ErrAlreadyUp if the folder has one, and ErrNotOurs if it holds something
// else. When Up fails nothing is left running, and the logs are in the error.
func Up(ctx context.Context, h host.Host, st store.Store, spec Spec, now time.Time) (*Playground, store.Status, error) {
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
	if err := vacant(spec.Dir); err != nil {
		return nil, store.Status{}, err
	}
	var err error
	for range portAttempts {
		p := &Playground{Schema: stateSchema, Store: st.Name(), Dir: spec.Dir, Started: now.UTC()}
		var status store.Status
		if status, err = p.up(ctx, h, st, spec); err == nil {
			return p, status, nil
		}
		var failed *startError
		if !errors.As(err, &failed) || !failed.portInUse() {
			break
		}
	}
	return nil, store.Status{}, err
}

// vacant says why a playground cannot be started in the folder.
func vacant(dir string) error {
	p, err := Load(dir)
	switch {
	case errors.Is(err, ErrNoPlayground):
		return nil
	case err != nil:
		return err
	case p.running() == 0:
		return fmt.Errorf("%w but none of its members runs; remove what is left in %s with `cluster down` first", ErrAlreadyUp, dir)
	}
	return fmt.Errorf("%w: %d of %d members of the %s cluster in %s run, at %s; stop it with `cluster down` first",
		ErrAlreadyUp, p.running(), len(p.Members), p.Store, dir, strings.Join(p.Endpoints(), ","))
}

// up is one attempt. The state is written after each start, so that Down finds
// the members even if we are killed here.
func (p *Playground) up(ctx context.Context, h host.Host, st store.Store, spec Spec) (_ store.Status, err error) {
	if err := p.create(); err != nil {
		return store.Status{}, err
	}
	var processes []running
	defer func() {
		if err != nil {
			err = p.discard(processes, err)
		}
	}()
	lease, err := h.Ports(ctx, spec.Members*store.PortsPerMember)
	if err != nil {
		return store.Status{}, err
	}
	defer lease.Release()
	launch, err := st.Launch(launchSpec(spec, p.Dir, lease))
	if err != nil {
		return store.Status{}, err
	}
	for _, command := range launch.Processes {
		p.Members = append(p.Members, PlaygroundMember{
			Name: command.Name, Endpoint: command.Endpoint, DataDir: command.DataDir, LogFile: command.LogFile,
		})
		started, err := p.startMember(h, command)
		processes = append(processes, started...)
		if err != nil {
			return store.Status{}, err
		}
	}
	return p.await(ctx, st, launch.StartTimeout, processes)
}

// startMember starts the processes of the last member, and saves the state
// after each. It returns those that it started, whatever goes wrong.
func (p *Playground) startMember(h host.Host, command store.Process) (started []running, err error) {
	m := &p.Members[len(p.Members)-1]
	for _, c := range append(slices.Clone(command.Behind), command) {
		process, err := startProcess(h, c, true)
		if err != nil {
			return started, err
		}
		started = append(started, running{name: c.Name, Process: process})
		if len(started) > len(command.Behind) {
			m.Process = process.Identity()
		} else {
			m.Behind = append(m.Behind, PlaygroundBacking{Name: c.Name, Endpoint: c.Endpoint, Process: process.Identity()})
		}
		if err := p.save(); err != nil {
			return started, err
		}
	}
	return started, nil
}

func (p *Playground) await(ctx context.Context, st store.Store, timeout time.Duration, processes []running) (store.Status, error) {
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

// NotUndone is the error of a start that failed and left something behind.
type NotUndone struct {
	Why  error // why it failed
	Left error // what is left, and why
}

func (e *NotUndone) Error() string   { return fmt.Sprintf("%v; and %v", e.Why, e.Left) }
func (e *NotUndone) Unwrap() []error { return []error{e.Why, e.Left} }

// discard undoes a failed start and returns why it failed.
func (p *Playground) discard(processes []running, why error) error {
	for _, process := range processes {
		_ = process.Signal(host.Kill)
	}
	for _, process := range processes {
		select {
		case <-process.Exited():
		case <-time.After(killTimeout):
			return &NotUndone{why, fmt.Errorf("process %d does not end though it was killed", process.Identity().PID)}
		}
	}
	if err := p.remove(); err != nil {
		return &NotUndone{why, err}
	}
	return why
}

// Stopped is what Down did.
type Stopped struct {
	Found bool     // false: there was no cluster, and nothing to do
	Store string   // its store
	Ended []string // the members that ran and were stopped
	Gone  []string // the members that did not run any more
}

// Down stops the playground of a folder and removes its data. Members are told
// apart from processes that got their numbers since. Where there is none, it
// does nothing and says so with Found. Members that do not end in 5 s, or when
// ctx ends, are killed.
func Down(ctx context.Context, dir string) (Stopped, error) {
	p, err := Load(dir)
	if errors.Is(err, ErrNoPlayground) {
		return Stopped{}, nil
	}
	if err != nil {
		return Stopped{}, err
	}
	s := Stopped{Found: true, Store: p.Store}
	for i := range p.Members {
		m := &p.Members[i]
		if !m.alive() {
			s.Gone = append(s.Gone, m.Name)
			continue
		}
		s.Ended = append(s.Ended, m.Name)
	}
	if err := p.stop(ctx); err != nil {
		return s, err
	}
	return s, p.remove()
}

// stop ends the members: first asked, then killed.
func (p *Playground) stop(ctx context.Context) error {
	if err := p.signalAll(host.Terminate, host.Resume); err != nil {
		return err
	}
	if p.awaitGone(ctx, defaultStopTimeout, lonelyGrace) {
		return nil
	}
	if err := p.signalAll(host.Kill); err != nil {
		return err
	}
	if !p.awaitGone(context.Background(), killTimeout, killTimeout) {
		return fmt.Errorf("a member of the cluster in %s does not end though it was killed", p.Dir)
	}
	return nil
}

func (p *Playground) signalAll(signals ...host.Signal) error {
	for i := range p.Members {
		for _, process := range p.Members[i].processes() {
			for _, s := range signals {
				if err := process.Signal(s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// awaitGone asks until no member runs, and reports whether that is so; they are
// nobody's children here, so there is nothing to wait for. What is left without
// a quorum gets no longer than grace.
func (p *Playground) awaitGone(ctx context.Context, limit, grace time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	ticker := time.NewTicker(firstPause)
	defer ticker.Stop()
	lonely := false
	for {
		running := p.running()
		if running == 0 {
			return true
		}
		if !lonely && running < quorum(len(p.Members)) {
			lonely = true
			timer.Reset(min(limit, grace))
		}
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case <-ticker.C:
		}
	}
}

// remove removes what up made, the state last; the folder itself goes too if
// nothing else is in it. A failed start keeps no log: what matters of it is in
// the error.
func (p *Playground) remove() error {
	names := make([]string, 0, len(p.Members)+1)
	for _, m := range p.Members {
		names = append(names, m.Name) // as launchSpec calls its folder
	}
	for _, name := range append(names, stateFile) {
		if !filepath.IsLocal(name) || name == "." {
			return fmt.Errorf("%w: the state of the cluster in %s names %q, which is outside of it", ErrNotOurs, p.Dir, name)
		}
		if err := os.RemoveAll(filepath.Join(p.Dir, name)); err != nil {
			return fmt.Errorf("the cluster's files in %s cannot be removed: %w", p.Dir, err)
		}
	}
	_ = os.Remove(p.Dir) // fails if something else is in it, which stays
	return nil
}
