package agent

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// missed is the number of consecutive missing heartbeats after which one side treats the other as
// lost.
const missed = 2

// errBye reports that the controller ended the session.
var errBye = errors.New("the controller ended the session")

// session is a controller's connection, and everything that it started on this machine.
type session struct {
	token      string
	controller string
	since      time.Time
	ctx        context.Context // canceled when the controller has left; loads then stop
	cancel     context.CancelCauseFunc
	loads      sync.WaitGroup

	mu        sync.Mutex
	over      bool // set if nothing can be started anymore
	processes []host.Process
	disks     []*heldDisk
	files     sessionFolder
	data      map[string]host.Claim // claimed folders that have not been released, by path
	ever      []folder              // all folders that the session has ever claimed
	until     time.Time             // time at which a lost controller's processes will be killed; zero while the controller is connected
}

func newSession(ctx context.Context, controller string, now time.Time) *session {
	var token [16]byte
	_, _ = rand.Read(token[:]) // it never fails
	s := &session{token: hex.EncodeToString(token[:]), controller: controller, since: now, data: map[string]host.Claim{}}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// begin registers a new stream, for which the caller must later call loads.Done. It returns false
// if the token is wrong or the session has ended.
func (s *session) begin(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 || s.ctx.Err() != nil {
		return false
	}
	s.loads.Add(1)
	return true
}

// leave ends all streams.
func (s *session) leave(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel(why)
}

// busy returns the reason why another controller must wait.
func (s *session) busy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.until.IsZero() {
		return fmt.Errorf("the agent lost its controller (%s) and will stop this controller's processes at %s; try again after that", s.controller, s.until.UTC().Format(time.TimeOnly))
	}
	return fmt.Errorf("the agent has been serving another controller (%s) since %s, and serves only one at a time", s.controller, s.since.UTC().Format(time.TimeOnly))
}

// hold records a process, which will be killed when the session ends. It returns false if the
// session has already ended.
func (s *session) hold(p host.Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.processes = append(s.processes, p)
	}
	return !s.over
}

// holdDisk records a disk, which will be closed when the session's processes have exited. It
// returns false if the session has already ended.
func (s *session) holdDisk(d *heldDisk) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.disks = append(s.disks, d)
	}
	return !s.over
}

// claims reports whether a path is below a claimed folder.
func (s *session) claims(path string) bool {
	for of := range s.folders() {
		if path != of && folder(of).holds(path) {
			return true
		}
	}
	return false
}

func (s *session) claimed(c host.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[c.Path()] = c
	s.ever = append(s.ever, folder(c.Path()))
}

// everClaimed reports whether a path is in a folder that is or was claimed.
func (s *session) everClaimed(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.ever, func(f folder) bool { return f.holds(path) })
}

func (s *session) released(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.data, path)
}

// folders returns the environment entries of the claimed folders, by path.
func (s *session) folders() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	marks := make(map[string]string, len(s.data))
	for path, c := range s.data {
		marks[path] = c.Env()
	}
	return marks
}

// attend answers heartbeats until the controller ends the session (errBye) or is lost. A controller
// is lost if its connection ends, or if two heartbeats are missing while our process was running.
func (s *session) attend(beats <-chan beat, ended <-chan error, answer func(beat) error, every time.Duration, c Clock) error {
	quiet := newSilence(c, every)
	for {
		select {
		case b := <-beats:
			quiet = newSilence(c, every)
			b.Answered = c.Now()
			if err := answer(b); err != nil {
				return fmt.Errorf("the connection ended: %w", err)
			}
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return errBye
			}
			return fmt.Errorf("the connection ended: %w", err)
		case <-quiet.over:
			if quiet.lost() {
				return fmt.Errorf("no heartbeat was received for %v", missed*every)
			}
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
}

// lost must be called when the controller is lost. It stores the time at which the session's
// processes will be killed.
func (s *session) lost(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = until
}

// endWithin limits the wait for killed processes to exit.
const endWithin = 10 * time.Second

// end kills all processes and then closes their disks. It returns the number of processes that were
// still running. Data and logs remain.
func (s *session) end() (ran int) {
	s.mu.Lock()
	s.over = true
	processes, disks := s.processes, s.disks
	s.mu.Unlock()
	defer func() {
		for _, d := range disks {
			d.close()
		}
	}()
	for _, p := range processes {
		select {
		case <-p.Exited():
		default:
			ran++
			_ = p.Signal(context.Background(), host.Kill) // fails only if the process has exited
		}
	}
	limit := time.NewTimer(endWithin)
	defer limit.Stop()
	for _, p := range processes {
		select {
		case <-p.Exited():
		case <-limit.C:
			return ran
		}
	}
	return ran
}
