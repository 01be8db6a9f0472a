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

// missedHeartbeats is the number of consecutive missing heartbeats after which one side treats the
// other as lost.
const missedHeartbeats = 2

// errBye reports that the controller ended the session.
var errBye = errors.New("the controller ended the session")

// session is a controller's connection, and everything that it started on this machine.
type session struct {
	token      string
	controller string
	beganAt    time.Time
	ctx        context.Context // canceled when the controller has left; loads then stop
	cancel     context.CancelCauseFunc
	streams    sync.WaitGroup

	mu         sync.Mutex
	closed     bool // set if nothing can be started anymore
	processes  []host.Process
	disks      []*sessionDisk
	files      sessionFolder
	openClaims map[string]host.Claim // claimed folders that have not been released, by path
	allClaims  []folder              // all folders that the session has ever claimed
	killTime   time.Time             // time at which a lost controller's processes will be killed; zero while the controller is connected
}

func newSession(ctx context.Context, controller string, now time.Time) *session {
	var token [16]byte
	_, _ = rand.Read(token[:]) // it never fails
	s := &session{token: hex.EncodeToString(token[:]), controller: controller, beganAt: now, openClaims: map[string]host.Claim{}}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// begin registers a new stream. It returns false if the token is wrong or the session has ended.
// Otherwise, the caller must call streams.Done when the stream has been served.
func (s *session) begin(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 || s.ctx.Err() != nil {
		return false
	}
	s.streams.Add(1)
	return true
}

// endStreams ends all streams.
func (s *session) endStreams(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel(reason)
}

// busy returns the reason why another controller must wait.
func (s *session) busy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.killTime.IsZero() {
		return fmt.Errorf("the agent lost its controller (%s) and will stop this controller's processes at %s; try again after that", s.controller, s.killTime.UTC().Format(time.TimeOnly))
	}
	return fmt.Errorf("the agent has been serving another controller (%s) since %s, and serves only one controller at a time", s.controller, s.beganAt.UTC().Format(time.TimeOnly))
}

// addProcess records a process, which will be killed when the session ends. It returns false if the
// session has already ended.
func (s *session) addProcess(p host.Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.processes = append(s.processes, p)
	}
	return !s.closed
}

// addDisk records a disk, which will be closed when the session's processes have exited. It
// returns false if the session has already ended.
func (s *session) addDisk(d *sessionDisk) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.disks = append(s.disks, d)
	}
	return !s.closed
}

// hasClaimed reports whether a path is below a claimed folder.
func (s *session) hasClaimed(path string) bool {
	for of := range s.claimMarks() {
		if path != of && folder(of).contains(path) {
			return true
		}
	}
	return false
}

func (s *session) addClaim(c host.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openClaims[c.Path()] = c
	s.allClaims = append(s.allClaims, folder(c.Path()))
}

// hasEverClaimed reports whether a path is in a folder that is or was claimed.
func (s *session) hasEverClaimed(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.allClaims, func(f folder) bool { return f.contains(path) })
}

func (s *session) removeClaim(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.openClaims, path)
}

// claimMarks returns the environment entries of the claimed folders, by path.
func (s *session) claimMarks() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	marks := make(map[string]string, len(s.openClaims))
	for path, c := range s.openClaims {
		marks[path] = c.Env()
	}
	return marks
}

// answerHeartbeats answers heartbeats until the controller ends the session (errBye) or is lost. A
// controller is lost if its connection ends, or if two heartbeats were missing while our process
// was running.
func (s *session) answerHeartbeats(beats <-chan heartbeat, ended <-chan error, answer func(heartbeat) error, every time.Duration, c Clock) error {
	silenceTimer := newSilence(c, every)
	for {
		select {
		case b := <-beats:
			silenceTimer = newSilence(c, every)
			b.ReplySent = c.Now()
			if err := answer(b); err != nil {
				return fmt.Errorf("the connection ended: %w", err)
			}
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return errBye
			}
			return fmt.Errorf("the connection ended: %w", err)
		case <-silenceTimer.tickEnded:
			if silenceTimer.lost() {
				return fmt.Errorf("no heartbeat was received for %v", missedHeartbeats*every)
			}
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
}

// recordLoss must be called when the controller is lost. It stores the time at which the session's
// processes will be killed.
func (s *session) recordLoss(killTime time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killTime = killTime
}

// endTimeout limits the wait for killed processes to exit.
const endTimeout = 10 * time.Second

// end kills all processes and then closes their disks. It returns the number of processes that were
// still running. Data and logs remain.
func (s *session) end() (stillRunning int) {
	s.mu.Lock()
	s.closed = true
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
			stillRunning++
			_ = p.Signal(context.Background(), host.Kill) // fails only if the process has exited
		}
	}
	limit := time.NewTimer(endTimeout)
	defer limit.Stop()
	for _, p := range processes {
		select {
		case <-p.Exited():
		case <-limit.C:
			return stillRunning
		}
	}
	return stillRunning
}
