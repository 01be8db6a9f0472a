// Package host starts, signals and measures server processes on a machine, and manages their files,
// ports and logs. A Host is the local machine or a remote one; callers use both in the same way.
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

// Host is a machine on which a run starts processes and keeps files. So that the machine can be
// remote, every argument and every result can be encoded as data or is one of the small interfaces
// below. A context limits only the call itself: after Start has returned, canceling its context
// does not affect the started process. Paths are absolute. Paths and process IDs are valid only on
// this host.
type Host interface {
	// Describe returns the host's description, which never changes.
	Describe(ctx context.Context) (Description, error)

	// Start starts a process.
	Start(ctx context.Context, c Command) (Process, error)
	// Ports reserves the given number of ports (at least 1) on one address of this host. No other
	// Lease of the host includes these ports. The system does not use these ports for outgoing
	// connections, because the ports are below the system's range for such connections.
	Ports(ctx context.Context, count int) (*Lease, error)

	// Claim creates a new folder inside parent. Release removes the folder. If the owning process
	// exits without a call of Release, CleanOrphans removes it.
	Claim(ctx context.Context, parent string) (Claim, error)
	// MakeDir creates a folder and its missing parents. It succeeds if the folder exists.
	MakeDir(ctx context.Context, path string) error
	// WriteFile atomically creates a file or replaces its contents: a reader sees either the old or
	// the new contents.
	WriteFile(ctx context.Context, path string, contents []byte) error
	// Empty removes everything inside a folder, but keeps the folder itself.
	Empty(ctx context.Context, dir string) error
	// Disk creates the folder dir and puts it on a simulated disk, on which faults can be injected.
	// self is the path of the quorumbench binary on the host.
	Disk(ctx context.Context, self, dir string) (Disk, error)
	// Follow returns a reader of all lines that are appended to text files after this call. The
	// reader also reads a file that is created after the call, from its beginning.
	Follow(ctx context.Context, paths []string) (Logs, error)
	// CopyLog copies the file up to its size at the time of the call. If the file is larger than
	// MaxLogBytes, CopyLog copies only its beginning and its end, and writes a line between them
	// that reports the omission. omitted is the number of omitted bytes.
	CopyLog(ctx context.Context, path string, dst io.Writer) (omitted int64, err error)

	// Fsync measures the durations of write and fdatasync calls on each device that contains at
	// least one of the folders. It performs the given number of writes on each device.
	Fsync(ctx context.Context, dirs []string, writes int) ([]probe.FsyncResult, error)
	// Sample returns the resource usage of the given processes, in the order of pids. If machine is
	// set, it also returns the usage of the whole machine.
	Sample(ctx context.Context, pids []int, machine bool) (Sample, error)
	// MeasureFolders returns the disk space in bytes that the files in each folder use, in the
	// order of dirs. The value is -1 for a folder that cannot be read. cost is the processor time
	// of the measurement.
	MeasureFolders(ctx context.Context, dirs []string) (bytes []int64, cost time.Duration, err error)

	// Limits returns the limits of the machine, and of the file system that contains the folder.
	Limits(ctx context.Context, dir string) (measure.HostLimits, error)
	// WriteLog makes synced writes in a new folder inside dir, and removes that folder. It calls
	// the function `second` once for each second of writes. It ends when the writes end, when ctx
	// is canceled, or when `second` returns false.
	WriteLog(ctx context.Context, dir string, w probe.PacedWrites, second func(measure.WrittenSecond) bool) error
	// Echo starts a server that returns small messages to other hosts, until Close is called.
	Echo(ctx context.Context) (*Echo, error)
	// RoundTrips sends n messages to another host's echo server.
	RoundTrips(ctx context.Context, address, token string, n int) (measure.RoundTrips, error)
}

// Description identifies a machine and describes its hardware and limits.
type Description struct {
	Place   Place           `json:"place"`
	Machine measure.Machine `json:"machine"` // the description that is stored with a run's results
	// Folder is the folder that contains all of the host's files. It is empty if files may be in
	// any folder.
	Folder string `json:"folder,omitempty"`
	// Process is the ID of the quorumbench process that runs on the machine. It executes the calls
	// of the host's methods and generates load there.
	Process int `json:"process,omitempty"`
	// Network identifies the network namespace of Process. NamespaceView identifies the user and
	// the other namespaces of Process, because these determine which other processes Process can
	// see. An empty string means unknown.
	Network       string `json:"network,omitempty"`
	NamespaceView string `json:"view,omitempty"`
}

// SeesSameProcesses reports whether the quorumbench processes on two hosts run in the same
// namespaces and can see the same processes.
func (d *Description) SeesSameProcesses(other *Description) bool {
	return d.NamespaceView != "" && d.NamespaceView == other.NamespaceView && d.Network == other.Network && d.Place == other.Place
}

// Sample is the resource usage of processes and of their machine until the time At on the host's
// clock. If the system does not report resource usage, OK is false for all processes and Machine is
// nil.
type Sample struct {
	At        time.Time            `json:"at"`
	Processes []probe.ProcessUsage `json:"processes"`
	Machine   *probe.MachineUsage  `json:"machine"`
	// Cost is the processor time that was needed to take the sample.
	Cost time.Duration `json:"cost_ns"`
}

// Remote is a Host on another machine, on which a quorumbench process acts for the caller. That
// process itself creates the commands and configuration files of a store's processes, based on the
// software that is installed on the machine. Its host can become unreachable. The caller then cannot
// know whether the host's processes still run.
type Remote interface {
	Host
	// CheckLaunch returns nil if the host can start the cluster's processes. Otherwise it returns
	// the reason, such as a missing server binary. CheckLaunch starts no process.
	CheckLaunch(ctx context.Context, l Launch) error
	// Renew writes the credentials in l to the certificate files of the running process (see
	// store.Embedded.CertificateFiles).
	Renew(ctx context.Context, l Launch) error
	// Presence returns a context that is canceled when the connection to the host is lost. The
	// cause of the context gives the reason in one sentence.
	Presence() context.Context
	// Reach returns a function that connects to an endpoint from the host, or nil if the host does
	// not open connections for its caller.
	Reach() func(ctx context.Context, endpoint string) (net.Conn, error)
	// Clock returns the latest estimate of the host's clock, which differs from ours. All times
	// that the host returns are already converted to our clock.
	Clock() Clock
}

// Disk is a simulated disk that contains one folder. Faults can be injected on it.
type Disk interface {
	// Set injects the faults in f. They replace all faults that were set before.
	Set(ctx context.Context, f disk.Faults) error
	// WriteBack ensures that all data written so far survives a power loss, including data that was
	// not synced. The effect is the same as if the kernel had written the data to the device.
	WriteBack(ctx context.Context) error
	// PowerLoss drops all data that was not synced. It returns the number of files that lost data.
	// All processes that used the disk must have exited.
	PowerLoss(ctx context.Context) (damagedFiles int, err error)
	// PID returns the ID of the process that serves the disk.
	PID() int
	// Close unmounts the disk. It does not remove the disk's files, which are removed with the
	// Claim that contains them.
	Close()
}

// NetworkProvider is implemented by a Host that can give each member a separate network, and can
// inject faults on the links between these networks.
type NetworkProvider interface {
	// CheckNetworkSupport returns nil if the host can give each member a separate network.
	// Otherwise it returns the reason in one sentence.
	CheckNetworkSupport(ctx context.Context) error
	// Network creates a network for each of the named members. self is the path of the quorumbench
	// binary on the host.
	Network(ctx context.Context, self string, members []string) (Network, error)
}

// Network connects the networks of a cluster's members.
type Network interface {
	// Member returns a Host for the network of the i-th member: this Host reserves ports and starts
	// processes in that network.
	Member(i int) Host
	// Set injects the given faults on the links. They replace all faults that were set before.
	Set(ctx context.Context, all []network.Fault) error
	// PID returns the ID of the process that forwards packets between the networks.
	PID() int
	// Close removes the networks. The members' processes must have exited.
	Close()
}

// Command describes a process to start. The process gets its own process group, so that it does not
// receive Ctrl-C from our terminal.
type Command struct {
	Path    string   // executable
	Args    []string // without the executable
	Env     []string // KEY=VALUE, added to files.CleanEnviron
	Dir     string   // working folder
	LogFile string   // standard output and standard error are appended to this file
	// If Lifeline is not empty, the process's standard input is a pipe that is closed when our
	// process exits. Lifeline has the form KEY=VALUE and is added to the new process's environment.
	// This variable notifies the new process that its standard input is such a pipe.
	Lifeline string
	// Detach permits the process to continue after our process has exited. If Detach is not set,
	// Linux kills the process when our process exits, whatever the reason. On other systems, the
	// process itself must exit when its standard input (see Lifeline) is closed.
	Detach bool
	// Launch identifies the store's process that the command starts. A Remote uses only Launch to
	// determine the command, and rejects a Command without a Launch. Launch is nil if the command
	// starts no process of a store.
	Launch *Launch
}

// Launch describes one process of a store as plain data, from which the store's package can
// construct the process's command (see store.LaunchSpec).
type Launch struct {
	Store    string
	Version  string // version of the installed server, or empty for the store's default
	Exec     string // path of a binary that the user chose, or empty for the store's default binary
	Process  string // name of the process
	Cluster  string
	Members  []kv.MemberPlace
	Settings json.RawMessage // in the store's own encoding
	Joining  string          `json:",omitempty"` // name of the member that joins an existing cluster, or empty
	// Credentials maps a member's name to its TLS certificates and keys.
	Credentials map[string]kv.Credentials `json:",omitempty"`
}

// Process is a started process.
type Process interface {
	// Identity identifies the process, even after its process ID is reused.
	Identity() Identity
	// Signal sends a signal to the process and its children. It does nothing if the process has
	// exited.
	Signal(ctx context.Context, s Signal) error
	// Exited is closed when the process has exited.
	Exited() <-chan struct{}
	// Exit describes how the process ended. It is the zero value until Exited is closed.
	Exit() Exit
}

// Claim is a folder that belongs to a running process.
type Claim interface {
	// Path is the folder's absolute path.
	Path() string
	// Env returns a KEY=VALUE that must be set in the environment of each process that works in the
	// folder. CleanOrphans uses it to recognize the process.
	Env() string
	// Note records a process that works in the folder. CleanOrphans kills this process before it
	// removes the folder.
	Note(ctx context.Context, process Identity) error
	// Release removes the folder.
	Release(ctx context.Context) error
}

// Lease reserves free ports on one address until Release is called. No other lease includes these
// ports, but another program can still take them.
type Lease struct {
	Address string // an IP address
	Ports   []int
	Release func() // may be called more than once
}

// Logs follows several log files. It is not safe for concurrent use.
type Logs interface {
	// Read returns the lines that were completed since the last call, in order within each file.
	// The lines do not include line endings, are truncated to maxLine bytes, and are valid until
	// the next call. If more is set, Read has not returned all lines that were complete when it
	// began, and the caller must call it again.
	Read(ctx context.Context) (lines []Line, more bool, err error)
	Close() error
}

// Line is a line from one of the followed files.
type Line struct {
	File int       // index in the list passed to Follow
	At   time.Time // when the line was read
	Text []byte
	// Ahead is how far the host's clock was ahead of our clock. The caller needs Ahead because
	// timestamps in the text may come from the host's clock. AheadUnknown is set if the host's
	// clock was set since the last Read.
	Ahead        time.Duration `json:",omitempty"`
	AheadUnknown bool          `json:",omitempty"`
}

// Signal is a signal that a Process supports.
type Signal uint8

// The signals.
const (
	Terminate Signal = iota // asks the process to end (SIGTERM)
	Kill                    // ends it (SIGKILL)
	Pause                   // suspends it (SIGSTOP)
	Resume                  // continues it (SIGCONT)
)

// signals contains the POSIX name and number of each Signal.
var signals = [...]struct {
	name   string
	number syscall.Signal
}{Terminate: {"SIGTERM", syscall.SIGTERM}, Kill: {"SIGKILL", syscall.SIGKILL}, Pause: {"SIGSTOP", syscall.SIGSTOP}, Resume: {"SIGCONT", syscall.SIGCONT}}

// String returns the signal's POSIX name.
func (s Signal) String() string { return signals[s].name }

// Exit describes how a process ended.
type Exit struct {
	At     time.Time
	Code   int      // exit status, or -1 if a signal killed the process
	Signal string   // the signal that killed the process, such as "killed", or empty
	Tail   []string // the last lines of the process's log
	// LossReason is the reason why the machine cannot be reached, or empty if it can. If LossReason
	// is not empty, it is unknown whether the process still runs.
	LossReason string
}

// String returns a phrase such as "exit status 1" or "signal: killed".
func (e Exit) String() string {
	if e.LossReason != "" {
		return "lost: " + e.LossReason
	}
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
