// Package host runs server processes on a machine: it starts, signals and measures them, and
// provides their files, ports and logs. The local machine is one implementation of Host;
// callers cannot tell which implementation they have.
package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Host is everything that a run needs of a machine. What it takes and returns is
// data, or one of the small interfaces below, so that the machine may be another
// one. A context bounds the call and nothing that comes of it: a process lives on
// when the context that it was started with ends. Paths are absolute, and mean
// something on this host only; so do process numbers.
type Host interface {
	// Describe returns what the machine is. It does not change.
	Describe(ctx context.Context) (Description, error)

	// Start starts a process.
	Start(ctx context.Context, c Command) (Process, error)
	// Ports reserves count ports (at least 1) on one address of this host that no
	// other Lease of it has, below the range from which the system takes ports for
	// outgoing connections.
	Ports(ctx context.Context, count int) (*Lease, error)

	// Claim makes a new folder below parent that is removed when its owner ends in
	// any way: by its Release, or as an orphan when it could not.
	Claim(ctx context.Context, parent string) (Claim, error)
	// MakeDir makes a folder and those above it; it may exist.
	MakeDir(ctx context.Context, path string) error
	// WriteFile makes or replaces a file as a whole, so that no reader ever
	// sees a half of it.
	WriteFile(ctx context.Context, path string, contents []byte) error
	// Follow follows text files from their present ends on; one that is not there
	// yet, from its beginning.
	Follow(ctx context.Context, paths []string) (Logs, error)
	// CopyLog copies what a file has now. Of one larger than MostLog its beginning
	// and its end are copied, with a line between them; left is how many bytes lie there.
	CopyLog(ctx context.Context, path string, to io.Writer) (left int64, err error)

	// Fsync measures so many writes with fdatasync in the folders, once for each
	// device that they lie on.
	Fsync(ctx context.Context, dirs []string, writes int) ([]probe.FsyncResult, error)
	// Sample reads what processes have used, in the order of pids, and what the
	// machine has if that is asked for.
	Sample(ctx context.Context, pids []int, machine bool) (Sample, error)
	// Weigh returns what each folder's files take on their disk in bytes, in the
	// order of dirs, -1 for one that cannot be read; and the processor time that it
	// took.
	Weigh(ctx context.Context, dirs []string) (bytes []int64, cost time.Duration, err error)
}

// Description is what a machine is.
type Description struct {
	Place   Place           `json:"place"`
	Machine measure.Machine `json:"machine"` // as a run records it
	// Folder is the one below which all paths on the host must be; empty where they
	// may be anywhere.
	Folder string `json:"folder,omitempty"`
	// Process is the number of the process that serves the host, and generates load
	// there.
	Process int `json:"process,omitempty"`
	// Network names the network namespace of that process, and View what else decides
	// what it sees of others: its user and namespaces. Empty: that is not known.
	Network string `json:"network,omitempty"`
	View    string `json:"view,omitempty"`
}

// SeesAs reports whether two hosts' processes are in one place, and see the same of
// each process there.
func (d *Description) SeesAs(other *Description) bool {
	return d.View != "" && d.View == other.View && d.Network == other.Network && d.Place == other.Place
}

// Sample is what processes and their machine have used until a time by the
// host's clock. Where the system does not say, no process is OK and the machine
// is nil.
type Sample struct {
	At        time.Time            `json:"at"`
	Processes []probe.ProcessUsage `json:"processes"`
	Machine   *probe.MachineUsage  `json:"machine"`
	// Cost is the processor time that it took to find that out.
	Cost time.Duration `json:"cost_ns"`
}

// Launcher is a Host that makes what it starts itself, of what is installed there.
type Launcher interface {
	// Launchable returns why a cluster's processes cannot be started there, such as
	// for want of a server. It starts nothing.
	Launchable(ctx context.Context, l Launch) error
}

// Losable is a Host that can go out of reach: what is there goes on, or has ended, and
// nobody sees it.
type Losable interface {
	// Presence ends when the host is lost; its cause says why, in one sentence.
	Presence() context.Context
}

// Reacher is a Host that can open connections from where it is.
type Reacher interface {
	// Reach returns a dialer of endpoints; nil where the host does not connect for us.
	Reach() func(ctx context.Context, endpoint string) (net.Conn, error)
}

// Disker is a Host that can put folders onto disks that fail on request.
type Disker interface {
	// Disk puts a folder, which is made, onto such a disk. self is the path of our own
	// binary here.
	Disk(ctx context.Context, self, dir string) (Disk, error)
}

// Renewer is a Host that makes what it starts, with its files, and gives a member that
// runs its new credentials likewise.
type Renewer interface {
	// Renew writes those of the launch for its process (store.Embedded.CertificateFiles).
	Renew(ctx context.Context, l Launch) error
}

// Emptier is a Host that can empty folders.
type Emptier interface {
	// Empty removes all that is in a folder, which stays.
	Empty(ctx context.Context, dir string) error
}

// Disk is a folder's disk.
type Disk interface {
	// Set has the disk have these faults, and no others.
	Set(ctx context.Context, f disk.Faults) error
	// WriteBack has all that was written until now survive a power loss, as what the
	// kernel wrote back does, synced or not.
	WriteBack(ctx context.Context) error
	// PowerLoss has the disk forget what was not synced, and returns how many files
	// lost something. All processes that used the disk must have ended.
	PowerLoss(ctx context.Context) (lost int, err error)
	// PID is the number of the process that serves it.
	PID() int
	// Close unmounts the disk. Its files are removed with the Claim that they are in.
	Close()
}

// Networker is a Host that can give members networks of their own, with links that fail
// on request.
type Networker interface {
	// Networkable says in a sentence why it cannot; nil if it can.
	Networkable(ctx context.Context) error
	// Network makes such networks for members with these names. self is the path of our
	// own binary here.
	Network(ctx context.Context, self string, members []string) (Network, error)
}

// Network joins the networks of a cluster's members.
type Network interface {
	// Member is the host as the i-th member has it: its ports, and the processes that it
	// starts, are in that member's network.
	Member(i int) Host
	// Set has the links have these faults, and no others.
	Set(ctx context.Context, all []network.Fault) error
	// PID is the number of the process that forwards packets.
	PID() int
	// Close ends the networks. The members' processes must have ended.
	Close()
}

// Command is a process to be started. It gets a process group of its own, so
// that a Ctrl-C meant for us does not reach it.
type Command struct {
	Path    string   // executable
	Args    []string // without the executable
	Env     []string // KEY=VALUE, in addition to those of package environ
	Dir     string   // working folder
	LogFile string   // standard output and error are appended here
	// Lifeline, if not empty, makes standard input a pipe that ends with us.
	// It is a KEY=VALUE of the environment that says so to the process.
	Lifeline string
	// Detach lets the process live on when we end. Otherwise it never outlives
	// us: on Linux the kernel kills it when we end in any way; elsewhere it
	// must end with its Lifeline.
	Detach bool
	// Launch says what the command is of a store's launch, for hosts that make the
	// command themselves and take none from elsewhere; nil for any other.
	Launch *Launch
}

// Launch is one process of a store's launch, as data from which the store's
// package makes the process again (store.LaunchSpec).
type Launch struct {
	Store    string
	Version  string // of an installed server; empty for the store's default
	Exec     string // a binary that the user named; empty for the store's own
	Process  string // its name
	Cluster  string
	Members  []kv.MemberPlace
	Settings json.RawMessage // as the store's settings encode themselves
	Joining  string          `json:",omitempty"` // the member that joins the others; empty for none
	// Credentials are those with which members speak TLS, by their names.
	Credentials map[string]kv.Credentials `json:",omitempty"`
}

// Process is a process that was started.
type Process interface {
	// Identity says which process it is, beyond the reuse of its number.
	Identity() Identity
	// Signal sends a signal to the process and to those that it started.
	// Signalling an ended process does nothing.
	Signal(ctx context.Context, s Signal) error
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
	Note(ctx context.Context, process Identity) error
	// Release removes the folder.
	Release(ctx context.Context) error
}

// Lease is a number of free ports on one address. It holds them against other
// leases, not against other programs, until it is released.
type Lease struct {
	Address string // an IP address
	Ports   []int
	Release func() // gives the ports back; may be called again
}

// Logs are files that are followed. One goroutine uses them.
type Logs interface {
	// Read returns lines that were ended since the last Read: those of one file
	// in their order, without their ends, cut after some thousand bytes. They are
	// valid until the next Read. more says that the files had further lines when
	// the first Read without more began.
	Read(ctx context.Context) (lines []Line, more bool, err error)
	Close() error
}

// Line is a line of one of several files.
type Line struct {
	File int       // by its place in the list that was given to Follow
	At   time.Time // when it was read
	Text []byte
	// Ahead is how far the host's clock, by which the text may say a time, was ahead of
	// ours; Unsure says that it was set since the last Read.
	Ahead  time.Duration `json:",omitempty"`
	Unsure bool          `json:",omitempty"`
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

// signals are the signals as POSIX names them, and by their numbers.
var signals = [...]struct {
	name   string
	number syscall.Signal
}{Terminate: {"SIGTERM", syscall.SIGTERM}, Kill: {"SIGKILL", syscall.SIGKILL}, Pause: {"SIGSTOP", syscall.SIGSTOP}, Resume: {"SIGCONT", syscall.SIGCONT}}

// String returns the signal's POSIX name.
func (s Signal) String() string { return signals[s].name }

// Exit says how a process ended.
type Exit struct {
	At     time.Time
	Code   int      // exit status; -1 when a signal ended it
	Signal string   // the signal that ended it, such as "killed"; else empty
	Tail   []string // the last lines of its log
	// Lost says why nothing is known of the process any more: its machine is out of
	// reach. Else it is empty.
	Lost string
}

// String is a phrase such as "exit status 1" or "signal: killed".
func (e Exit) String() string {
	if e.Lost != "" {
		return "lost: " + e.Lost
	}
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
