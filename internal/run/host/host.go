// Package host runs server processes on a machine: it starts, signals and measures them, and
// provides their files, ports and logs. The local machine is one implementation of Host;
// callers cannot distinguish the implementations.
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

// Host gives access to a machine on which a run starts processes and keeps files. Arguments
// and results are data or one of the small interfaces below, so that the machine can be
// remote. A context bounds only the call: a process keeps running after the context that it
// was started with has ended. Paths are absolute; paths and process numbers are valid on
// this host only.
type Host interface {
	// Describe returns the host's description, which does not change.
	Describe(ctx context.Context) (Description, error)

	// Start starts a process.
	Start(ctx context.Context, c Command) (Process, error)
	// Ports reserves count ports (at least 1) on one address of this host. No other Lease of
	// the host has them, and they are below the range from which the system takes ports for
	// outgoing connections.
	Ports(ctx context.Context, count int) (*Lease, error)

	// Claim makes a new folder below parent. Release removes it; if its owner ends without
	// releasing it, CleanOrphans does.
	Claim(ctx context.Context, parent string) (Claim, error)
	// MakeDir makes a folder and its missing parents. An existing folder is no error.
	MakeDir(ctx context.Context, path string) error
	// WriteFile creates or replaces a file atomically: a reader sees the old contents or the
	// new ones.
	WriteFile(ctx context.Context, path string, contents []byte) error
	// Follow reads what is appended to text files after this call. A file that does not
	// exist yet is read from its beginning.
	Follow(ctx context.Context, paths []string) (Logs, error)
	// CopyLog copies the file's present contents. If the file is larger than MostLog, only
	// its beginning and its end are copied, with a line between them; left is the number of
	// bytes left out.
	CopyLog(ctx context.Context, path string, to io.Writer) (left int64, err error)

	// Fsync times the given number of writes with fdatasync, once for each device that the
	// folders are on.
	Fsync(ctx context.Context, dirs []string, writes int) ([]probe.FsyncResult, error)
	// Sample returns the resource usage of processes, in the order of pids, and with machine
	// also that of the whole machine.
	Sample(ctx context.Context, pids []int, machine bool) (Sample, error)
	// Weigh returns the disk space in bytes that each folder's files use, in the order of
	// dirs (-1 for a folder that cannot be read), and the processor time that measuring
	// took.
	Weigh(ctx context.Context, dirs []string) (bytes []int64, cost time.Duration, err error)
}

// Description identifies a machine and describes its hardware and limits.
type Description struct {
	Place   Place           `json:"place"`
	Machine measure.Machine `json:"machine"` // as a run records it
	// Folder contains all paths on the host; empty if they may be anywhere.
	Folder string `json:"folder,omitempty"`
	// Process is the number of the process that serves the host and generates load on it.
	Process int `json:"process,omitempty"`
	// Network names that process's network namespace. View names its user and the namespaces
	// that decide which other processes it can see. Both are empty if unknown.
	Network string `json:"network,omitempty"`
	View    string `json:"view,omitempty"`
}

// SeesAs reports whether the processes that serve two hosts run in the same place and see
// the same processes there.
func (d *Description) SeesAs(other *Description) bool {
	return d.View != "" && d.View == other.View && d.Network == other.Network && d.Place == other.Place
}

// Sample holds the usage of processes and of their machine up to a time on the host's
// clock. On systems that do not provide usage, no process is OK and Machine is nil.
type Sample struct {
	At        time.Time            `json:"at"`
	Processes []probe.ProcessUsage `json:"processes"`
	Machine   *probe.MachineUsage  `json:"machine"`
	// Cost is the processor time that sampling took.
	Cost time.Duration `json:"cost_ns"`
}

// Launcher is implemented by a Host that builds the commands it starts from the software
// installed on it.
type Launcher interface {
	// Launchable returns why a cluster's processes cannot be started there, such as a
	// missing server binary. It starts nothing.
	Launchable(ctx context.Context, l Launch) error
}

// Losable is implemented by a Host that can become unreachable. Its processes may keep
// running or may have ended; the caller cannot see which.
type Losable interface {
	// Presence returns a context that ends when the host is lost; its cause is one sentence
	// with the reason.
	Presence() context.Context
}

// Reacher is implemented by a Host that can open connections from its own machine.
type Reacher interface {
	// Reach returns a dialer of endpoints, or nil if the host does not connect on behalf of
	// its caller.
	Reach() func(ctx context.Context, endpoint string) (net.Conn, error)
}

// Disker is implemented by a Host that can put folders onto disks that fail on request.
type Disker interface {
	// Disk makes a folder and puts it onto such a disk. self is the path of quorumbench's
	// binary on the host.
	Disk(ctx context.Context, self, dir string) (Disk, error)
}

// Renewer is implemented by a Host that builds the commands and files of what it starts. It
// can replace the credentials of a running member.
type Renewer interface {
	// Renew writes the launch's credentials for its process
	// (store.Embedded.CertificateFiles).
	Renew(ctx context.Context, l Launch) error
}

// Emptier is implemented by a Host that can empty folders.
type Emptier interface {
	// Empty removes everything in a folder and keeps the folder.
	Empty(ctx context.Context, dir string) error
}

// Disk is a disk with one folder, which fails on request.
type Disk interface {
	// Set makes f the disk's only faults.
	Set(ctx context.Context, f disk.Faults) error
	// WriteBack makes everything written until now survive a power loss, synced or not, as
	// if the kernel had written it back.
	WriteBack(ctx context.Context) error
	// PowerLoss drops all data that was not synced, and returns how many files lost some.
	// All processes that used the disk must have ended.
	PowerLoss(ctx context.Context) (lost int, err error)
	// PID returns the number of the process that serves the disk.
	PID() int
	// Close unmounts the disk. The Claim that contains its files removes them.
	Close()
}

// Networker is implemented by a Host that can give each member a separate network, whose
// links fail on request.
type Networker interface {
	// Networkable returns in one sentence why the host cannot, or nil if it can.
	Networkable(ctx context.Context) error
	// Network makes such networks for the named members. self is the path of quorumbench's
	// binary on the host.
	Network(ctx context.Context, self string, members []string) (Network, error)
}

// Network joins the networks of a cluster's members.
type Network interface {
	// Member returns the host as the i-th member sees it: its ports and the processes it
	// starts are in that member's network.
	Member(i int) Host
	// Set makes all the only faults of the links.
	Set(ctx context.Context, all []network.Fault) error
	// PID returns the number of the process that forwards packets.
	PID() int
	// Close removes the networks. The members' processes must have ended.
	Close()
}

// Command describes a process to start. The process gets its own process group, so that a
// Ctrl-C in our terminal does not reach it.
type Command struct {
	Path    string   // executable
	Args    []string // without the executable
	Env     []string // KEY=VALUE, added to files.CleanEnviron
	Dir     string   // working folder
	LogFile string   // standard output and error are appended here
	// Lifeline, if not empty, makes standard input a pipe that is closed when our process
	// ends. It is a KEY=VALUE of the environment that announces the pipe to the new process.
	Lifeline string
	// Detach lets the process outlive ours. An attached process never does: Linux kills it
	// when ours ends in any way; on other systems it must end when its Lifeline does.
	Detach bool
	// Launch identifies the store's launch that the command is for. Hosts that build
	// commands themselves use it and accept no other command. It is nil for a command that
	// launches no store.
	Launch *Launch
}

// Launch describes one process of a store's launch as data, from which the store's package
// builds the process again (store.LaunchSpec).
type Launch struct {
	Store    string
	Version  string // of an installed server; empty for the store's default
	Exec     string // a binary that the user named; empty for the store's own
	Process  string // its name
	Cluster  string
	Members  []kv.MemberPlace
	Settings json.RawMessage // as the store's settings encode themselves
	Joining  string          `json:",omitempty"` // the member that joins the others; empty for none
	// Credentials are the members' TLS certificates and keys, by name.
	Credentials map[string]kv.Credentials `json:",omitempty"`
}

// Process is a started process.
type Process interface {
	// Identity identifies the process, even after its number was reused.
	Identity() Identity
	// Signal sends a signal to the process and to those that it started. It does nothing if
	// the process has ended.
	Signal(ctx context.Context, s Signal) error
	// Exited is closed when the process has ended.
	Exited() <-chan struct{}
	// Exit describes how the process ended; it is the zero value until Exited is closed.
	Exit() Exit
}

// Claim is a folder that belongs to a running process.
type Claim interface {
	// Path is the folder's absolute path.
	Path() string
	// Env returns a KEY=VALUE for the environment of each process that works in the folder;
	// CleanOrphans recognizes the process by it.
	Env() string
	// Note records a process that works in the folder, so that CleanOrphans ends it before
	// it removes the folder.
	Note(ctx context.Context, process Identity) error
	// Release removes the folder.
	Release(ctx context.Context) error
}

// Lease reserves free ports on one address until it is released. It excludes other leases,
// and does not prevent another program from taking the ports.
type Lease struct {
	Address string // an IP address
	Ports   []int
	Release func() // gives the ports back; may be called more than once
}

// Logs follows several log files. Only one goroutine may use it.
type Logs interface {
	// Read returns the lines that were completed since the last Read, in order within each
	// file, without line endings and cut to maxLine bytes. The lines are valid until the
	// next Read. more reports that the files held further lines when this series of Reads
	// began; call Read again.
	Read(ctx context.Context) (lines []Line, more bool, err error)
	Close() error
}

// Line is a line of one of several files.
type Line struct {
	File int       // index in the list passed to Follow
	At   time.Time // when it was read
	Text []byte
	// Ahead is how far the host's clock, which the text's times may come from, was ahead of
	// ours. Unsure reports that the clock was set since the last Read.
	Ahead  time.Duration `json:",omitempty"`
	Unsure bool          `json:",omitempty"`
}

// Signal is one of the signals that a benchmark needs.
type Signal uint8

// The signals.
const (
	Terminate Signal = iota // asks the process to end (SIGTERM)
	Kill                    // ends it (SIGKILL)
	Pause                   // suspends it (SIGSTOP)
	Resume                  // continues it (SIGCONT)
)

// signals holds each signal's POSIX name and number.
var signals = [...]struct {
	name   string
	number syscall.Signal
}{Terminate: {"SIGTERM", syscall.SIGTERM}, Kill: {"SIGKILL", syscall.SIGKILL}, Pause: {"SIGSTOP", syscall.SIGSTOP}, Resume: {"SIGCONT", syscall.SIGCONT}}

// String returns the signal's POSIX name.
func (s Signal) String() string { return signals[s].name }

// Exit describes how a process ended.
type Exit struct {
	At     time.Time
	Code   int      // exit status; -1 when a signal ended it
	Signal string   // the signal that ended it, such as "killed"; empty if none
	Tail   []string // the last lines of its log
	// Lost is why the process's fate is unknown: its machine cannot be reached. Otherwise it
	// is empty.
	Lost string
}

// String returns a phrase such as "exit status 1" or "signal: killed".
func (e Exit) String() string {
	if e.Lost != "" {
		return "lost: " + e.Lost
	}
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
