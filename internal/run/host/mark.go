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

// MarkEnv is the environment variable that holds the mark of the folder that a process
// works for.
const MarkEnv = "QUORUMBENCH_MARK"

// markBytes is enough for a mark that cannot be guessed.
const markBytes = 16

// Mark is a random text drawn for one folder. Every process that we start for the folder
// carries it in its environment, so that the process is recognized even if we were killed
// before its number was recorded.
type Mark string

// NewMark draws a mark.
func NewMark() Mark {
	var b [markBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return Mark(hex.EncodeToString(b[:]))
}

// Env returns the mark as KEY=VALUE.
func (m Mark) Env() string { return MarkEnv + "=" + string(m) }

// Valid reports whether the mark has the form that NewMark draws. No other text is searched
// for.
func (m Mark) Valid() bool {
	b, err := hex.DecodeString(string(m))
	return err == nil && len(b) == markBytes && hex.EncodeToString(b) == string(m)
}

// Held is a process that has proved to be ours, with a handle to it: a process that reuses
// its number is never signalled.
type Held struct {
	Identity
	At     string // where in the folder it works, as shown by its working folder, an open file or an argument
	handle *os.Process
}

// Marked returns the processes of this user that carry the mark and work in the folder. The
// caller releases them.
func Marked(m Mark, dir string) []*Held {
	if !m.Valid() {
		return nil
	}
	dirs := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		dirs = append(dirs, real)
	}
	var out []*Held
	for _, pid := range carriers(m) {
		if h := hold(pid, m, dirs); h != nil {
			out = append(out, h)
		}
	}
	return out
}

// hold takes the handle before it checks the proof. If another process gets the number in
// between, either that process has no proof or the handle no longer works.
func hold(pid int, m Mark, dirs []string) *Held {
	handle, err := os.FindProcess(pid) // a pidfd on Linux
	if err != nil {
		return nil
	}
	h := &Held{handle: handle}
	if h.Identity, err = Identify(pid); err == nil && pid != os.Getpid() && carries(pid, m) {
		h.At = worksIn(pid, dirs)
	}
	if h.At == "" {
		h.Release()
		return nil
	}
	return h
}

// Signal sends a signal to this process. It does nothing if the process has ended.
func (h *Held) Signal(s Signal) error {
	if !h.Running() { // needed on systems without process handles
		return nil
	}
	err := h.handle.Signal(signals[s].number)
	if err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d cannot be sent %s: %w", h.PID, s, err)
	}
	return nil
}

// Release closes the handle.
func (h *Held) Release() { _ = h.handle.Release() }

// relativePath returns path relative to the first of dirs that contains it, "." for the folder
// itself, and "" if none does.
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

// pathInArgument returns relativePath's result for a path that appears in an argument and extends to
// its end.
func pathInArgument(arg string, dirs []string) string {
	for _, dir := range dirs {
		if at := strings.Index(arg+"/", dir+"/"); at >= 0 {
			return relativePath(arg[at:], dirs)
		}
	}
	return ""
}
