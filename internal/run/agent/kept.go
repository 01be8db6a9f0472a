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

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Limits for the files that sessions leave in the agent's folder.
const (
	maxKeptBytes = 1 << 30        // maximum size in bytes of a lost session's data, and of the logs of all sessions
	keepDataFor  = 24 * time.Hour // how long the data of a lost session is kept, unless another session begins earlier
	keepDays     = 7              // how long logs are kept; older logs are removed when the agent starts or a session ends
)

// sessionPrefix is the prefix of the names of session folders.
const sessionPrefix = "quorumbench-session-"

// sessionFolder is a session's folder inside the agent's folder. It is created before the session
// writes its first file. It stays locked until the session's data is released, so that another
// agent with the same --dir does not remove it.
type sessionFolder struct {
	parent *host.Folder
	path   string
	mu     sync.Mutex
	lock   *os.File // nil until the folder is created
}

// choosePath chooses a path that does not exist yet.
func (r *sessionFolder) choosePath(parent *host.Folder, now time.Time) {
	var unique [4]byte
	_, _ = rand.Read(unique[:]) // it never fails
	r.parent, r.path = parent, filepath.Join(parent.Path(), sessionPrefix+now.UTC().Format("20060102T150405")+"-"+hex.EncodeToString(unique[:]))
}

// open creates and locks the folder. It has no effect when called again.
func (r *sessionFolder) open() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock != nil {
		return nil
	}
	name := filepath.Base(r.path)
	_, err := r.parent.CreateFolder(name)
	if err == nil {
		var made *host.Folder
		if made, err = r.parent.Sub(name); err == nil {
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
		r.parent.RemoveEmpty(filepath.Base(r.path))
		_ = r.lock.Close()
	}
}

// lostData is the data that a session's controller did not release, usually because its connection
// was lost.
type lostData struct {
	session *session
	claims  []host.Claim
}

// removeAbandonedFolders removes the folders that killed agents left, and reports each removal.
func (s *Server) removeAbandonedFolders() error {
	removed, err := host.CleanOrphans(string(s.folder), host.AnyDepth)
	for _, orphan := range removed {
		s.options.Logf("%s", orphan)
	}
	if err != nil {
		s.options.Logf("%v", err) // the agent tries again at its next start
	}
	return s.removeOld()
}

// keepUnreleasedData retains the data that a session has not released. The data is removed when the
// next session begins or when keepDataFor has passed. If the data exceeds maxKeptBytes bytes,
// keepUnreleasedData removes it immediately. The caller must hold mu.
func (s *Server) keepUnreleasedData(ctx context.Context, current *session) {
	k := &lostData{session: current}
	var paths []string
	for path, c := range current.openClaims {
		k.claims = append(k.claims, c)
		paths = append(paths, path)
	}
	bytes := int64(0)
	sizes, _, _ := s.host.MeasureFolders(ctx, paths) // a folder whose size is unknown counts as empty
	for _, size := range sizes {
		bytes += max(0, size)
	}
	if len(k.claims) == 0 {
		current.files.close()
	} else if s.lostData = k; bytes > s.maxKeptBytes {
		s.dropLostData(fmt.Sprintf(": its size of %s exceeds the limit of %s", text.Bytes(uint64(bytes)), text.Bytes(uint64(s.maxKeptBytes))))
	} else {
		expired := s.options.Clock.After(keepDataFor)
		go func() {
			select {
			case <-expired:
			case <-ctx.Done(): // the agent removes the data at its next start
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.lostData == k {
				s.dropLostData("")
			}
		}()
	}
	if err := s.removeOld(); err != nil {
		s.options.Logf("%v", err)
	}
}

// dropLostData removes the lost session's data and reports this. The caller must hold mu.
func (s *Server) dropLostData(reason string) {
	if s.lostData == nil {
		return
	}
	for _, c := range s.lostData.claims {
		if err := c.Release(context.Background()); err != nil {
			s.options.Logf("%v", err)
			continue
		}
		s.options.Logf("removed %s, the data that controller %s left%s", c.Path(), s.lostData.session.controller, reason)
	}
	s.lostData.session.files.close()
	s.lostData = nil
}

// endedSession is the folder of a session that has ended.
type endedSession struct {
	name    string
	lock    *os.File
	endedAt time.Time
	bytes   int64
}

// removeOld removes the folders of sessions that ended more than keepDays ago. If the remaining
// session folders contain more than maxKeptBytes bytes, it then removes the oldest of them. All of
// these folders contain only logs.
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
		sessionDir, err := s.files.Sub(name)
		if err != nil {
			continue // not a session folder
		}
		o := endedSession{name: name, endedAt: sessionDir.ModifiedAt()}
		if o.lock, err = sessionDir.Lock(); err == nil {
			defer func() { _ = o.lock.Close() }()
			s.files.RemoveEmpty(name) // removes the folder if it is empty, for example because a killed agent's data was removed
			o.bytes = max(0, sessionDir.DiskUsage())
		}
		sessionDir.Close()
		if err != nil {
			continue // the session is still running
		}
		total += o.bytes
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b endedSession) int {
		return cmp.Or(a.endedAt.Compare(b.endedAt), strings.Compare(a.name, b.name))
	})
	for _, o := range all {
		age := s.options.Clock.Now().Sub(o.endedAt)
		if age <= keepDays*24*time.Hour && total <= s.maxKeptBytes {
			break
		}
		path := filepath.Join(s.files.Path(), o.name)
		if err := s.files.RemoveAll(o.name); err != nil {
			s.options.Logf("cannot remove the folder %s of an earlier session: %v", text.Line(path, maxPathBytes), host.Cause(err))
			continue
		}
		total -= o.bytes
		s.options.Logf("removed %s, the logs of an earlier session: logs are kept for %d days and up to a total size of %s",
			text.Line(path, maxPathBytes), keepDays, text.Bytes(uint64(s.maxKeptBytes)))
	}
	return nil
}
