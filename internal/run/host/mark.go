package host

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// MarkEnv is the environment variable that identifies the folder in which a process works.
const MarkEnv = "QUORUMBENCH_MARK"

// markBytes is the number of random bytes in a mark. It is large enough that a mark cannot be
// guessed.
const markBytes = 16

// Mark is a random string that identifies one claimed folder. Every process that we start for the
// folder has the mark in its environment. The mark identifies such a process even if our own
// process is killed before it can record the process's ID.
type Mark string

// NewMark returns a new random mark.
func NewMark() Mark {
	var b [markBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return Mark(hex.EncodeToString(b[:]))
}

// Env returns the mark as KEY=VALUE.
func (m Mark) Env() string { return MarkEnv + "=" + string(m) }

// Valid reports whether the mark has the format that NewMark returns. FindMarked searches only for
// valid marks.
func (m Mark) Valid() bool {
	b, err := hex.DecodeString(string(m))
	return err == nil && len(b) == markBytes && hex.EncodeToString(b) == string(m)
}

// ProcessHandle is a running process that was proved to be ours, together with a handle. A signal
// that is sent through the handle never reaches another process that reuses the process ID.
type ProcessHandle struct {
	Identity
	Path   string // path inside the folder that the process uses as working folder, open file or argument
	handle *os.Process
}

// FindMarked returns this user's processes that carry the mark and work in the folder. The caller
// must call Release for each of them.
func FindMarked(m Mark, dir string) []*ProcessHandle {
	if !m.Valid() {
		return nil
	}
	dirs := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		dirs = append(dirs, real)
	}
	var out []*ProcessHandle
	for _, pid := range findMarkedPIDs(m) {
		if h := openMarked(pid, m, dirs); h != nil {
			out = append(out, h)
		}
	}
	return out
}

// openMarked opens the handle first and then checks the process. If another process receives the
// process ID between these two steps, either the check fails or the handle can no longer be used.
func openMarked(pid int, m Mark, dirs []string) *ProcessHandle {
	handle, err := os.FindProcess(pid) // a pidfd on Linux
	if err != nil {
		return nil
	}
	h := &ProcessHandle{handle: handle}
	if h.Identity, err = Identify(pid); err == nil && pid != os.Getpid() && hasMark(pid, m) {
		h.Path = findPathInUse(pid, dirs)
	}
	if h.Path == "" {
		h.Release()
		return nil
	}
	return h
}

// Signal sends a signal to this process. It does nothing if the process has ended.
func (h *ProcessHandle) Signal(s Signal) error {
	if !h.Running() { // necessary on systems without process handles
		return nil
	}
	err := h.handle.Signal(signals[s].number)
	if err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot send process %d the signal %s: %w", h.PID, s, err)
	}
	return nil
}

// Release closes the handle.
func (h *ProcessHandle) Release() { _ = h.handle.Release() }

// relativePath returns the given path relative to the first of the folders that contains this path.
// The result is "." for the folder itself, and "" if no folder contains the path.
func relativePath(path string, dirs []string) string {
	for _, dir := range dirs {
		if path == dir {
			return "."
		}
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
			return rest
		}
	}
	return ""
}

// pathInArgument searches an argument for a path in one of the folders. The path must be at the end
// of the argument. The result has the same form as that of relativePath.
func pathInArgument(arg string, dirs []string) string {
	for _, dir := range dirs {
		if at := strings.Index(arg+"/", dir+"/"); at >= 0 {
			return relativePath(arg[at:], dirs)
		}
	}
	return ""
}
