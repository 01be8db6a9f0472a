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
	Found bool     // whether there was a cluster to stop
	Store string   // the cluster's store
	Ended []string // members that were running and have been stopped
	Gone  []string // members that were not running
}

// Down stops the playground in a folder and removes its data. If there is no playground, it does
// nothing, and Found is false. Members that have not exited within 5 s, or when ctx is canceled,
// are killed.
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
	found := p.look()
	defer found.release()
	if err := p.proven(found); err != nil {
		return Stopped{}, err
	}
	s := Stopped{Found: true, Store: p.Store, Ended: found.ended, Gone: found.gone}
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
		id, ours, err := folder.Look(m.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("cannot read the folder of member %s in %s: %w", m.Name, p.Dir, host.Cause(err))
		case !ours || !p.isSameFile(m.Folder, id) && (m.Folder != (host.FileID{}) || !folder.Empty(m.Name)):
			return fmt.Errorf("%w: %s in %s is not the folder that `cluster up` created; nothing was stopped or removed", ErrForeign, m.Name, p.Dir)
		}
	}
	return nil
}

// seen contains the running processes of a cluster.
type seen struct {
	processes []*host.Held
	ended     []string // members with a running process
	gone      []string // all other members
}

func (s *seen) release() {
	for _, h := range s.processes {
		h.Release()
	}
}

// look finds the running processes that certainly belong to the cluster, whether the state file
// lists them or not. It also finds out which members have such a process.
func (p *Playground) look() *seen {
	s := &seen{}
	if p.Place.Reach() == host.SamePlace {
		s.processes = host.FindMarked(p.Mark, p.Dir)
	}
	for i := range p.Members {
		m := &p.Members[i]
		if slices.ContainsFunc(s.processes, func(h *host.Held) bool { return p.member(h) == m.Name }) {
			s.ended = append(s.ended, m.Name)
		} else {
			s.gone = append(s.gone, m.Name)
		}
	}
	return s
}

// member returns the name of the member to which a process belongs.
func (p *Playground) member(h *host.Held) string {
	for i := range p.Members {
		if slices.Contains(p.Members[i].processes(), h.Identity) {
			return p.Members[i].Name
		}
	}
	name, _, _ := strings.Cut(h.At, "/")
	return name
}

// proven returns an error if the state file lists a running process that is not certain to belong
// to the cluster.
func (p *Playground) proven(found *seen) error {
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
func (p *Playground) stop(ctx context.Context, found *seen) error {
	if err := found.signal(host.Terminate, host.Resume); err != nil {
		return err
	}
	p.awaitGone(ctx, found, defaultStopTimeout, lonelyGrace)
	for range killRounds {
		left := p.look()
		if len(left.processes) == 0 {
			return nil
		}
		err := left.signal(host.Kill)
		if err == nil && !p.awaitGone(context.Background(), left, killTimeout, killTimeout) {
			err = fmt.Errorf("a member of the cluster in %s was killed but has not exited", p.Dir)
		}
		left.release()
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("the cluster in %s starts processes faster than quorumbench can kill them", p.Dir)
}

// killRounds limits how often stop searches for processes that other processes started before they
// were killed.
const killRounds = 5

func (s *seen) signal(signals ...host.Signal) error {
	for _, h := range s.processes {
		for _, signal := range signals {
			if err := h.Signal(signal); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitGone polls until none of the processes is running, and reports whether they have all exited.
// It polls because the processes are not our children. It waits for at most limit. Once fewer
// members than a quorum are running, it waits only for the duration grace.
func (p *Playground) awaitGone(ctx context.Context, found *seen, limit, grace time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	ticker := time.NewTicker(firstPause)
	defer ticker.Stop()
	lonely := false
	for {
		members, running := map[string]bool{}, 0
		for _, h := range found.processes {
			if h.Running() {
				members[p.member(h)] = true
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

// remove removes everything that Up created, and the state file last. It then removes the folder if
// Up created the folder and it is empty.
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
	_ = folder.Remove(stateFile + host.Unfinished) // exists if Up was killed while it wrote the state
	if err := folder.Remove(stateFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the state of the cluster in %s: %w", p.Dir, host.Cause(err))
	}
	for i := range p.Made {
		if p.Made[i].ID == p.Folder {
			p.Made[i].Path = p.Dir // the folder may have been moved after it was created
		}
	}
	host.RemoveMade(p.Made)
	return nil
}
