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

	"github.com/quorumbench/quorumbench/internal/text"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// Limits for the files that sessions leave in the agent's folder.
const (
	mostKept = 1 << 30        // maximum size in bytes of a lost session's data, and of the logs of all sessions
	keepData = 24 * time.Hour // how long the data of a lost session is kept, unless another session begins earlier
	keepDays = 7              // how long logs are kept; older logs are removed when the agent starts or a session ends
)

// sessionPrefix is the prefix of the names of session folders.
const sessionPrefix = "quorumbench-session-"

// sessionFolder is a session's folder inside the agent's folder. It is created before the session
// writes its first file. It stays locked until the session's data is released, so that another
// agent with the same --dir does not remove it.
type sessionFolder struct {
	in   *host.Folder
	path string
	mu   sync.Mutex
	lock *os.File // nil until the folder is created
}

// choosePath chooses a path that does not exist yet.
func (r *sessionFolder) choosePath(in *host.Folder, now time.Time) {
	var unique [4]byte
	_, _ = rand.Read(unique[:]) // it never fails
	r.in, r.path = in, filepath.Join(in.Path(), sessionPrefix+now.UTC().Format("20060102T150405")+"-"+hex.EncodeToString(unique[:]))
}

// open creates and locks the folder. It has no effect when called again.
func (r *sessionFolder) open() error {
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
		return fmt.Errorf("cannot create the session's folder %s: %w", r.path, host.Cause(err))
	}
	return nil
}

// close unlocks the folder, and removes it if it contains no file.
func (r *sessionFolder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock != nil {
		r.in.RemoveEmpty(filepath.Base(r.path))
		_ = r.lock.Close()
	}
}

// lostData is the data that a session's controller did not release, usually because its connection
// was lost.
type lostData struct {
	session *session
	claims  []host.Claim
}

// tidy removes the folders that killed agents left, and reports each removal.
func (s *Server) tidy() error {
	removed, err := host.CleanOrphans(string(s.folder), host.AnyDepth)
	for _, orphan := range removed {
		s.o.Say("%s", orphan)
	}
	if err != nil {
		s.o.Say("%v", err) // the agent tries again at its next start
	}
	return s.removeOld()
}

// keep retains the data that a session has not released. The data is removed when the next session
// begins or when keepData has passed. If the data exceeds mostKept bytes, keep removes it
// immediately. The caller must hold mu.
func (s *Server) keep(ctx context.Context, now *session) {
	k := &lostData{session: now}
	var paths []string
	for path, c := range now.data {
		k.claims = append(k.claims, c)
		paths = append(paths, path)
	}
	bytes := int64(0)
	sizes, _, _ := s.host.Weigh(ctx, paths) // a folder whose size is unknown counts as empty
	for _, size := range sizes {
		bytes += max(0, size)
	}
	if len(k.claims) == 0 {
		now.files.close()
	} else if s.lost = k; bytes > s.mostKept {
		s.dropLost(fmt.Sprintf(": its size of %s exceeds the limit of %s", text.Bytes(uint64(bytes)), text.Bytes(uint64(s.mostKept))))
	} else {
		over := s.o.Clock.After(keepData)
		go func() {
			select {
			case <-over:
			case <-ctx.Done(): // the agent removes the data at its next start
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

// dropLost removes the lost session's data and reports this. The caller must hold mu.
func (s *Server) dropLost(why string) {
	if s.lost == nil {
		return
	}
	for _, c := range s.lost.claims {
		if err := c.Release(context.Background()); err != nil {
			s.o.Say("%v", err)
			continue
		}
		s.o.Say("removed %s, the data that controller %s left%s", c.Path(), s.lost.session.controller, why)
	}
	s.lost.session.files.close()
	s.lost = nil
}

// endedSession is the folder of a session that has ended.
type endedSession struct {
	name  string
	lock  *os.File
	since time.Time
	bytes int64
}

// removeOld removes the folders of sessions that ended more than keepDays ago. If the others
// contain more than mostKept bytes, it then removes the oldest of them. These folders contain only
// logs.
func (s *Server) removeOld() error {
	names, err := s.files.Names()
	if err != nil {
		return fmt.Errorf("cannot read the agent's folder %s: %w", s.folder, host.Cause(err))
	}
	var all []endedSession
	total := int64(0)
	for _, name := range names {
		if !strings.HasPrefix(name, sessionPrefix) {
			continue
		}
		of, err := s.files.Sub(name)
		if err != nil {
			continue // not a session folder
		}
		o := endedSession{name: name, since: of.Changed()}
		if o.lock, err = of.Lock(); err == nil {
			defer func() { _ = o.lock.Close() }()
			s.files.RemoveEmpty(name) // removes the folder if it has no files left, because a killed agent's data was removed
			o.bytes = max(0, of.Bytes())
		}
		of.Close()
		if err != nil {
			continue // the session is still running
		}
		total += o.bytes
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b endedSession) int { return cmp.Or(a.since.Compare(b.since), strings.Compare(a.name, b.name)) })
	for _, o := range all {
		age := s.o.Clock.Now().Sub(o.since)
		if age <= keepDays*24*time.Hour && total <= s.mostKept {
			break
		}
		path := filepath.Join(s.files.Path(), o.name)
		if err := s.files.RemoveAll(o.name); err != nil {
			s.o.Say("cannot remove the folder %s of an earlier session: %v", text.Line(path, longestPath), host.Cause(err))
			continue
		}
		total -= o.bytes
		s.o.Say("removed %s, the logs of an earlier session: logs are kept for %d days and up to a total size of %s",
			text.Line(path, longestPath), keepDays, text.Bytes(uint64(s.mostKept)))
	}
	return nil
}
