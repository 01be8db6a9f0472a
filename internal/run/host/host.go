// Package host is where server processes run. The local machine is one
// implementation of Host; whatever acts on a Host cannot tell which it has.
package host

import (
	"context"
	"fmt"
	"time"
)

// Host starts processes and keeps their files.
type Host interface {
	// Start starts a process.
	Start(Command) (Process, error)
	// Ports reserves count ports (at least 1) on one loopback address that no
	// other Lease of this machine has, below the range from which the system
	// takes ports for outgoing connections.
	Ports(ctx context.Context, count int) (*Lease, error)
	// Claim makes a new folder below parent that is removed when we end in any
	// way: by its Release, or by the next CleanOrphans when we could not.
	Claim(parent string) (Claim, error)
	// MakeDir makes a folder and those above it; it may exist.
	MakeDir(path string) error
	// RemoveDir removes a folder with all that is in it; it may be missing.
	RemoveDir(path string) error
	// WriteFile makes or replaces a file as a whole, so that no reader ever
	// sees a half of it.
	WriteFile(path string, contents []byte) error
	// Tail returns at most the last so many lines of a text file.
	Tail(path string, lines int) ([]string, error)
}

// Command is a process to be started. It gets a process group of its own, so
// that a Ctrl-C meant for us does not reach it.
type Command struct {
	Path    string   // executable
	Args    []string // without the executable
	Env     []string // KEY=VALUE, beside those of package environ
	Dir     string   // working folder
	LogFile string   // standard output and error are appended here
	// Lifeline, if not empty, makes standard input a pipe that ends with us.
	// It is a KEY=VALUE of the environment that tells the process so.
	Lifeline string
	// Detach lets the process live on when we end. Otherwise it never outlives
	// us: on Linux the kernel kills it when we end in any way; elsewhere it
	// must watch its Lifeline.
	Detach bool
}

// Process is a process that was started.
type Process interface {
	// Identity says which process it is, beyond the reuse of its number.
	Identity() Identity
	// Signal sends a signal to the process and to those that it started.
	// Signalling an ended process does nothing.
	Signal(Signal) error
	// Exited is closed when the process has ended.
	Exited() <-chan struct{}
	// Exit says how it ended; it is the zero value until Exited is closed.
	Exit() Exit
}

// Claim is a folder with an owner.
type Claim interface {
	// Path is the folder's absolute path.
	Path() string
	// Env is a KEY=VALUE for the environment of each process that works in the
	// folder, by which it is recognized.
	Env() string
	// Note writes down a process that works in the folder, so that it is ended
	// before the folder is removed as an orphan.
	Note(Identity) error
	// Release removes the folder, or, with keep, leaves it without an owner.
	Release(keep bool) error
}

// Signal is one of the few signals that a benchmark needs.
type Signal uint8

// The signals.
const (
	Terminate Signal = iota // asks the process to end (SIGTERM)
	Kill                    // ends it (SIGKILL)
	Pause                   // stops it where it is (SIGSTOP)
	Resume                  // lets it go on (SIGCONT)
)

// String returns the signal's POSIX name.
func (s Signal) String() string {
	names := [...]string{"SIGTERM", "SIGKILL", "SIGSTOP", "SIGCONT"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("signal(%d)", s)
}

// Exit says how a process ended.
type Exit struct {
	At     time.Time
	Code   int      // exit status; -1 when a signal ended it
	Signal string   // the signal that ended it, such as "killed"; else empty
	Tail   []string // the last lines of its log
}

// String is a phrase such as "exit status 1" or "signal: killed".
func (e Exit) String() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
