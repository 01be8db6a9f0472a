package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// Stopped is the result of Down.
type Stopped struct {
	Existed        bool     // whether there was a cluster to stop
	Store          string   // the cluster's store
	StoppedMembers []string // members that were running and have been stopped
	ExitedMembers  []string // members that were not running
}

// Down stops the playground in a folder and removes its data. If there is no playground, it does
// nothing, and Existed is false. Down kills the members that are still running after 5 s, or when
// ctx is canceled.
//
// Down signals a process only if it can prove that the process is a member, and removes a folder
// only if Up created the folder. If the state file lists a process or folder for which it has no
// such proof, Down signals and removes nothing.
func Down(ctx context.Context, dir string) (Stopped, error) {
	p, folder, err := load(dir)
	if errors.Is(err, ErrNoPlayground) {
		return Stopped{}, nil
	}
	if err != nil {
		return Stopped{}, err
	}
	defer folder.Close()
	if err := p.stoppable(folder); err != nil {
		return Stopped{}, err
	}
	found := p.findProcesses()
	defer found.release()
	if err := p.checkProven(found); err != nil {
		return Stopped{}, err
	}
	s := Stopped{Existed: true, Store: p.Store, StoppedMembers: found.runningMembers, ExitedMembers: found.exitedMembers}
	if err := p.stop(ctx, found); err != nil {
		return s, err
	}
	return s, p.remove(folder)
}

// stoppable returns nil if the cluster may be stopped from here, and otherwise the reason.
func (p *Playground) stoppable(folder *host.Folder) error {
	if err := p.CheckHere(); err != nil {
		return fmt.Errorf("%w; nothing was stopped or removed; run `cluster down` there, or remove the folder yourself if that machine or namespace no longer exists", err)
	}
	if p.Starter != nil && p.Starter.Running() {
		return fmt.Errorf("process %[2]d is starting the cluster in %[1]s; interrupt it, or wait until it has finished", p.Dir, p.Starter.PID)
	}
	return p.removable(folder)
}

// removable returns an error if an entry with a member's name is not the folder that Up created. If
// Up was killed before it recorded the folder's ID, the folder must be empty.
func (p *Playground) removable(folder *host.Folder) error {
	for i := range p.Members {
		m := &p.Members[i]
		id, ours, err := folder.Inspect(m.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("cannot read the folder of member %s in %s: %w", m.Name, p.Dir, host.Cause(err))
		case !ours || !p.isSameFile(m.Folder, id) && (m.Folder != (host.FileID{}) || !folder.IsEmpty(m.Name)):
			return fmt.Errorf("%w: %s in %s is not the folder that `cluster up` created; nothing was stopped or removed", ErrForeign, m.Name, p.Dir)
		}
	}
	return nil
}

// liveProcesses contains the running processes of a cluster.
type liveProcesses struct {
	processes      []*host.ProcessHandle
	runningMembers []string // members with a running process
	exitedMembers  []string // all other members
}

func (s *liveProcesses) release() {
	for _, h := range s.processes {
		h.Release()
	}
}

// findProcesses finds the running processes that certainly belong to the cluster, whether the state
// file lists them or not. It also finds out which members have such a process.
func (p *Playground) findProcesses() *liveProcesses {
	s := &liveProcesses{}
	if p.Place.Visibility() == host.SamePlace {
		s.processes = host.FindMarked(p.Mark, p.Dir)
	}
	for i := range p.Members {
		m := &p.Members[i]
		if slices.ContainsFunc(s.processes, func(h *host.ProcessHandle) bool { return p.memberOf(h) == m.Name }) {
			s.runningMembers = append(s.runningMembers, m.Name)
		} else {
			s.exitedMembers = append(s.exitedMembers, m.Name)
		}
	}
	return s
}

// memberOf returns the name of the member to which a process belongs.
func (p *Playground) memberOf(h *host.ProcessHandle) string {
	for i := range p.Members {
		if slices.Contains(p.Members[i].processes(), h.Identity) {
			return p.Members[i].Name
		}
	}
	name, _, _ := strings.Cut(h.Path, "/")
	return name
}

// checkProven returns an error if the state file lists a running process that is not certain to
// belong to the cluster.
func (p *Playground) checkProven(found *liveProcesses) error {
	for i := range p.Members {
		m := &p.Members[i]
		if foreign := host.FindUnproven(m.processes(), found.processes); foreign != nil {
			return fmt.Errorf("process %d is listed in the state of the cluster in %s as member %s, but it is not certain that the process is this member; nothing was stopped or removed; if it is the member, kill it yourself, and then run `cluster down` again",
				foreign.PID, p.Dir, m.Name)
		}
	}
	return nil
}

// stop asks the members to exit and then kills those that are still running. It also kills
// processes that the members start in the meantime.
func (p *Playground) stop(ctx context.Context, found *liveProcesses) error {
	if err := found.signal(host.Terminate, host.Resume); err != nil {
		return err
	}
	p.awaitExit(ctx, found, stopTimeout, lonelyGrace)
	for range killRounds {
		remaining := p.findProcesses()
		if len(remaining.processes) == 0 {
			return nil
		}
		err := remaining.signal(host.Kill)
		if err == nil && !p.awaitExit(context.Background(), remaining, killTimeout, killTimeout) {
			err = fmt.Errorf("a member of the cluster in %s was killed but has not exited", p.Dir)
		}
		remaining.release()
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("the cluster in %s starts processes faster than quorumbench can kill them", p.Dir)
}

// killRounds limits how often the method `stop` searches for processes that were started by other
// processes before these were killed.
const killRounds = 5

func (s *liveProcesses) signal(signals ...host.Signal) error {
	for _, h := range s.processes {
		for _, signal := range signals {
			if err := h.Signal(signal); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitExit polls until none of the processes is running, and reports whether they have all exited.
// It polls because the processes are not our children. It waits at most for the duration `limit`.
// Once fewer members than a quorum are running, it waits at most for the duration `grace`.
func (p *Playground) awaitExit(ctx context.Context, found *liveProcesses, limit, grace time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	ticker := time.NewTicker(firstPause)
	defer ticker.Stop()
	lonely := false
	for {
		members, running := map[string]bool{}, 0
		for _, h := range found.processes {
			if h.Running() {
				members[p.memberOf(h)] = true
				running++
			}
		}
		if running == 0 {
			return true
		}
		if !lonely && len(members) < quorum(len(p.Members)) {
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

// remove removes everything that Up created. It removes the state file last. Then it removes the
// playground's folder if Up created this folder and the folder is empty.
func (p *Playground) remove(folder *host.Folder) error {
	if err := p.removable(folder); err != nil {
		return err
	}
	for i := range p.Members {
		m := &p.Members[i]
		remove := folder.RemoveAll
		if m.Folder == (host.FileID{}) { // Up was killed before it recorded the folder's ID
			remove = folder.Remove
		}
		if err := remove(m.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the folder of member %s in %s: %w", m.Name, p.Dir, host.Cause(err))
		}
	}
	_ = folder.Remove(stateFile + host.TemporarySuffix) // exists if Up was killed while it wrote the state
	if err := folder.Remove(stateFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the state of the cluster in %s: %w", p.Dir, host.Cause(err))
	}
	for i := range p.CreatedFolders {
		if p.CreatedFolders[i].ID == p.Folder {
			p.CreatedFolders[i].Path = p.Dir // the folder may have been moved after it was created
		}
	}
	host.RemoveCreatedFolders(p.CreatedFolders)
	return nil
}
