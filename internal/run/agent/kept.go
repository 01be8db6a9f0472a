package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// What sessions leave behind is kept within these bounds.
const (
	mostKept = 1 << 30        // bytes of the data of a lost session, and of the logs of all
	keepData = 24 * time.Hour // when no other session begins before
	keepDays = 7              // of logs, which are removed when the agent starts, or a session ends
)

// roomPrefix begins the names of the folders of sessions.
const roomPrefix = "quorumbench-session-"

// room is the folder of one session, below the agent's own. It is made when something
// is to be written, and locked until nothing of the session is needed any more, so that
// no other agent with the same folder removes it.
type room struct {
	path string
	mu   sync.Mutex
	lock *os.File // nil before it is made
}

// nameRoom names a folder that is not there yet.
func nameRoom(in folder, now time.Time) string {
	var unique [4]byte
	_, _ = rand.Read(unique[:]) // it never fails
	return filepath.Join(string(in), roomPrefix+now.UTC().Format("20060102T150405")+"-"+hex.EncodeToString(unique[:]))
}

// open makes the folder. It may be called again.
func (r *room) open() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock != nil {
		return nil
	}
	err := os.Mkdir(r.path, 0o700)
	if err == nil {
		r.lock, err = lockFolder(r.path)
	}
	if err != nil {
		return fmt.Errorf("the session's folder %s cannot be made: %w", r.path, host.Cause(err))
	}
	return nil
}

// close gives the lock back, and removes the folder if there is no file in it.
func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock != nil {
		removeEmpty(r.path)
		_ = r.lock.Close()
	}
}

// lockFolder opens a folder and locks it, where the file system has locks. The error is
// EWOULDBLOCK if another process has locked it.
func lockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// removeEmpty removes a folder with the folders in it, as far as no file is in them.
func removeEmpty(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeEmpty(filepath.Join(dir, e.Name()))
		}
	}
	_ = unix.Rmdir(dir) // which removes no folder with something in it
}

// lostData is the data that a session's controller did not release, for the most part
// because it was lost.
type lostData struct {
	of     *session
	claims []host.Claim
}

// tidy removes what agents that were killed left in the folder, and says so.
func (s *Server) tidy() error {
	removed, err := host.CleanOrphans(string(s.folder), host.AnyDepth)
	for _, orphan := range removed {
		s.o.Say("%s", orphan)
	}
	if err != nil {
		s.o.Say("%v", err) // what cannot be removed now can be the next time
	}
	return s.removeOld()
}

// keep keeps the data that a session has not released, if that is not too much, until
// another one begins or keepData is over. The caller has mu.
func (s *Server) keep(ctx context.Context, now *session) {
	k := &lostData{of: now}
	bytes := int64(0)
	for path, c := range now.data {
		k.claims = append(k.claims, c)
		bytes += max(0, probe.FolderBytes(path))
	}
	if len(k.claims) == 0 {
		now.room.close()
	} else if s.lost = k; bytes > s.mostKept {
		s.dropLost(fmt.Sprintf(": %s is more than the %s that are kept", readable.Bytes(uint64(bytes)), readable.Bytes(uint64(s.mostKept))))
	} else {
		over := s.o.Clock.After(keepData)
		go func() {
			select {
			case <-over:
			case <-ctx.Done(): // the next start of the agent removes it
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.lost == k {
				s.dropLost("")
			}
		}()
	}
	if err := s.removeOld(); err != nil {
		s.o.Say("%v", err)
	}
}

// dropLost removes the data that is kept, and says so. The caller has mu.
func (s *Server) dropLost(why string) {
	if s.lost == nil {
		return
	}
	for _, c := range s.lost.claims {
		if err := c.Release(context.Background()); err != nil {
			s.o.Say("%v", err)
			continue
		}
		s.o.Say("removed %s, the data that controller %s left%s", c.Path(), s.lost.of.controller, why)
	}
	s.lost.of.room.close()
	s.lost = nil
}

// old is the folder of a session that is over.
type old struct {
	path  string
	lock  *os.File
	since time.Time
	bytes int64
}

// removeOld removes the folders of sessions that are over and too old, and the oldest of
// the others until they are not too large together. Only logs are in them.
func (s *Server) removeOld() error {
	entries, err := os.ReadDir(string(s.folder))
	if err != nil {
		return fmt.Errorf("the agent's folder %s cannot be read: %w", s.folder, host.Cause(err))
	}
	var all []old
	total := int64(0)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), roomPrefix) {
			continue
		}
		o := old{path: filepath.Join(string(s.folder), e.Name())}
		if o.lock, err = lockFolder(o.path); err != nil {
			continue // of a session that goes on, or not ours
		}
		defer func() { _ = o.lock.Close() }()
		if info, err := e.Info(); err == nil {
			o.since = info.ModTime()
		}
		removeEmpty(o.path) // around the data of an agent that was killed
		o.bytes = max(0, probe.FolderBytes(o.path))
		total += o.bytes
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b old) int { return cmp.Or(a.since.Compare(b.since), strings.Compare(a.path, b.path)) })
	for _, o := range all {
		age := s.o.Clock.Now().Sub(o.since)
		if age <= keepDays*24*time.Hour && total <= s.mostKept {
			break
		}
		if err := os.RemoveAll(o.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.o.Say("the folder %s of an earlier session cannot be removed: %v", o.path, host.Cause(err))
			continue
		}
		total -= o.bytes
		s.o.Say("removed %s, the logs of an earlier session: they are kept for %d days, and %s of them at most",
			printable.Line(o.path, longestPath), keepDays, readable.Bytes(uint64(s.mostKept)))
	}
	return nil
}
