package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/run/host"
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
	in   *host.Folder
	path string
	mu   sync.Mutex
	lock *os.File // nil before it is made
}

// nameRoom names a folder that is not there yet.
func (r *room) nameRoom(in *host.Folder, now time.Time) {
	var unique [4]byte
	_, _ = rand.Read(unique[:]) // it never fails
	r.in, r.path = in, filepath.Join(in.Path(), roomPrefix+now.UTC().Format("20060102T150405")+"-"+hex.EncodeToString(unique[:]))
}

// open makes the folder. It may be called again.
func (r *room) open() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock != nil {
		return nil
	}
	name := filepath.Base(r.path)
	_, err := r.in.Make(name)
	if err == nil {
		var made *host.Folder
		if made, err = r.in.Sub(name); err == nil {
			r.lock, err = made.Lock()
			made.Close()
		}
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
		r.in.RemoveEmpty(filepath.Base(r.path))
		_ = r.lock.Close()
	}
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
	var paths []string
	for path, c := range now.data {
		k.claims = append(k.claims, c)
		paths = append(paths, path)
	}
	bytes := int64(0)
	sizes, _, _ := s.host.Weigh(ctx, paths) // what cannot be weighed is kept
	for _, size := range sizes {
		bytes += max(0, size)
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
	name  string
	lock  *os.File
	since time.Time
	bytes int64
}

// removeOld removes the folders of sessions that are over and too old, and the oldest of
// the others until they are not too large together. Only logs are in them.
func (s *Server) removeOld() error {
	names, err := s.files.Names()
	if err != nil {
		return fmt.Errorf("the agent's folder %s cannot be read: %w", s.folder, host.Cause(err))
	}
	var all []old
	total := int64(0)
	for _, name := range names {
		if !strings.HasPrefix(name, roomPrefix) {
			continue
		}
		of, err := s.files.Sub(name)
		if err != nil {
			continue // none of ours
		}
		o := old{name: name, since: of.Changed()}
		if o.lock, err = of.Lock(); err == nil {
			defer func() { _ = o.lock.Close() }()
			s.files.RemoveEmpty(name) // around the data of an agent that was killed
			o.bytes = max(0, of.Bytes())
		}
		of.Close()
		if err != nil {
			continue // of a session that goes on
		}
		total += o.bytes
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b old) int { return cmp.Or(a.since.Compare(b.since), strings.Compare(a.name, b.name)) })
	for _, o := range all {
		age := s.o.Clock.Now().Sub(o.since)
		if age <= keepDays*24*time.Hour && total <= s.mostKept {
			break
		}
		path := filepath.Join(s.files.Path(), o.name)
		if err := s.files.RemoveAll(o.name); err != nil {
			s.o.Say("the folder %s of an earlier session cannot be removed: %v", printable.Line(path, longestPath), host.Cause(err))
			continue
		}
		total -= o.bytes
		s.o.Say("removed %s, the logs of an earlier session: they are kept for %d days, and %s of them at most",
			printable.Line(path, longestPath), keepDays, readable.Bytes(uint64(s.mostKept)))
	}
	return nil
}
