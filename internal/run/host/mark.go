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

// MarkEnv is the variable of a process's environment that carries the mark of
// the folder that it works for.
const MarkEnv = "QUORUMBENCH_MARK"

// markBytes are as many as nobody guesses.
const markBytes = 16

// Mark is drawn for one folder and stands in the environment of each process
// that we start for it, so that they are recognized: also one whose number was
// not yet written down when we were killed.
type Mark string

// NewMark draws one.
func NewMark() Mark {
	var b [markBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return Mark(hex.EncodeToString(b[:]))
}

// Env is the mark as KEY=VALUE.
func (m Mark) Env() string { return MarkEnv + "=" + string(m) }

// Valid reports whether NewMark can have drawn it: no other text is looked for.
func (m Mark) Valid() bool {
	b, err := hex.DecodeString(string(m))
	return err == nil && len(b) == markBytes && hex.EncodeToString(b) == string(m)
}

// Held is a process that has proved to be ours, with a handle that stays with
// it: what gets its number later is never signalled.
type Held struct {
	Identity
	At     string // where in the folder it works: by its working folder, a file that it has open, or an argument
	handle *os.Process
}

// Marked finds the processes of this user that carry the mark and work in the
// folder. The caller releases them.
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

// hold takes the handle first and asks for the proof then: if another process
// gets the number in between, it is that one which cannot prove anything, or the
// handle which is of no use any more.
func hold(pid int, m Mark, dirs []string) *Held {
	handle, err := os.FindProcess(pid) // on Linux a pidfd
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

// Signal sends a signal to this very process, or does nothing if it is gone.
func (h *Held) Signal(s Signal) error {
	if !h.Running() { // which matters where there are no handles
		return nil
	}
	err := h.handle.Signal(signals[s].number)
	if err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d does not take %s: %w", h.PID, s, err)
	}
	return nil
}

// Release gives the handle back.
func (h *Held) Release() { _ = h.handle.Release() }

// within returns a path as seen from the one of the folders that it is in, "."
// for that itself, and nothing for any other path.
func within(path string, dirs []string) string {
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

// mentioned is within for a path that stands in an argument, to its end.
func mentioned(arg string, dirs []string) string {
	for _, dir := range dirs {
		if at := strings.Index(arg+"/", dir+"/"); at >= 0 {
			return within(arg[at:], dirs)
		}
	}
	return ""
}
