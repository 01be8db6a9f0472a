// Package cluster runs a store's members on hosts: it starts them, waits until they are ready,
// sends signals to them, restarts and stops them. The store's package provides the commands as
// data; nothing in this package depends on the store.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Spec describes a cluster to start.
type Spec struct {
	Name    string // a name that no other cluster has, such as run-1; default "quorumbench"
	Members int    // at least 1
	// Hosts are the machines on which members are placed in turn. If there are as many hosts as
	// members, each member has its own host.
	Hosts    []host.Host
	Exec     string   // path of a server binary, or empty for the store's default
	Version  string   // version of the installed server at Exec, or empty if Exec is another binary
	Self     string   // path of the quorumbench binary, or empty for the running binary
	Env      []string // KEY=VALUE, added to the environment of every process
	Settings any      // result of the store's DecodeSettings, or nil for the defaults
	// Disks puts each member's data on a disk on which faults can be injected.
	Disks bool
	// Network gives each member its own network, with links on which faults can be injected. All
	// members then run on the first host, which must support this (host.NetworkProvider).
	Network bool
	// Spare reserves a place for one more member, which joins on request.
	Spare bool
	// Dir is the folder on each host in which the cluster creates its data folder.
	Dir string
	// LogDir is the folder for the members' logs on each host; the default is "logs" in Dir. Stop
	// copies logs from other machines to this folder on this machine.
	LogDir string
}

// Member is a member of a running cluster.
type Member struct {
	ID       uint64 // the store's ID for the member, or 0 if the store reports no IDs
	Host     host.Host
	DataDir  string    // contains the member's data; fdatasync is measured here
	Process            // the process that clients connect to; it has the member's name
	Backends []Process // the member's other processes, such as the server behind a proxy
	// DiskServer is the process that serves the disk with injected faults, or nil if there is no
	// such disk.
	DiskServer *Process
	// NetworkServer is the process that forwards the packets of all members. It is nil if members
	// have no networks of their own. Otherwise, it is set only in the first member.
	NetworkServer *Process
}

// Processes returns all processes of the member, starting with the process that clients connect to.
func (m *Member) Processes() []Process { return append([]Process{m.Process}, m.Backends...) }

// Process describes a process of a member.
type Process struct {
	Name     string // such as m1, or m1-etcd
	Endpoint string // HOST:PORT on which the process serves
	PID      int    // process ID on the member's host
	LogFile  string // path on the member's host
}

// Server identifies the server from which members are started. If Version is set, it is the
// installed server of this version, and Exec is the path of this server on this machine. If only
// Exec is set, it is the binary at Exec. If both are empty, it is the store's default server.
type Server struct{ Version, Exec string }

// Cluster is a running cluster. Its methods are safe for concurrent use.
type Cluster struct {
	spec    Spec
	store   store.Store
	places  []*place
	launch  store.Launch
	admin   store.Admin
	network host.Network // nil if members use the machine's network
	members []*member
	spare   *spare // nil if no place is reserved
	// authority is the authority that signed the members' certificates. It is nil if members do not
	// use TLS.
	authority *host.Authority

	stopping sync.Mutex // held by Stop
	stopped  bool
	logNotes []string
}

// place contains the resources that a cluster uses on one of its hosts.
type place struct {
	host        host.Host
	networkHost host.Host // the host on which processes start and ports are leased: inside the member's network if it has one, otherwise the same as `host`
	root        string    // contains all files on the host; empty if files may be anywhere
	data        host.Claim
	lease       *host.Lease // ports of all members on the host
}

// member is a member of the cluster with its processes.
type member struct {
	place *place
	disk  host.Disk // nil if faults cannot be injected on the member's disk

	mu        sync.Mutex // guards the following fields, which change when the member is restarted
	details   Member
	processes []startedProcess // the last process is the one that clients connect to

	// The following fields describe the member's next start. They are guarded by Cluster.stopping.
	spec       store.LaunchSpec // the request to the store
	launch     store.Process
	hostLaunch host.Launch // the launch of the member's processes; Process is set for each of them
}

// description returns the current description of the member.
func (m *member) description() Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.details
	out.Backends = slices.Clone(out.Backends)
	return out
}

// startedProcesses returns the processes of the member that have been started.
func (m *member) startedProcesses() []startedProcess {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.processes)
}

// startedProcess is a started process.
type startedProcess struct {
	name    string
	logFile string // empty if the log is going to be removed
	host.Process
}

// hasExited reports whether the process has exited.
func (p *startedProcess) hasExited() bool {
	select {
	case <-p.Exited():
		return true
	default:
		return false
	}
}

// processes returns the started processes of all members.
func (c *Cluster) processes() []startedProcess {
	var out []startedProcess
	for _, m := range c.members {
		out = append(out, m.startedProcesses()...)
	}
	return out
}

// Members returns the members in order, including those that have exited.
func (c *Cluster) Members() []Member {
	out := make([]Member, len(c.members))
	for i, m := range c.members {
		out[i] = m.description()
	}
	return out
}

// Synced reports whether the store syncs a write to disk before it acknowledges the write.
func (c *Cluster) Synced() bool { return c.launch.Synced }

// Notes returns sentences about how the cluster was started.
func (c *Cluster) Notes() []string {
	notes := slices.Clone(c.launch.Notes)
	if c.spec.Disks {
		notes = append(notes, "the members' data is on disks on which faults can be injected: a FUSE file system of quorumbench, which is slower than the machine's disks")
	}
	switch {
	case c.authority == nil:
	case c.peersUseTLS():
		notes = append(notes, "clients and members use TLS with each other, with certificates that were created for the run")
	default:
		notes = append(notes, "clients use TLS with the members, with certificates that were created for the run; members do not use TLS with each other")
	}
	if c.spec.Network {
		notes = append(notes, "each member has its own network, and a process of quorumbench forwards every packet; this is slower than the machine's loopback interface and uses processor time")
	}
	return notes
}

// Access returns the information that clients need to connect to the cluster.
func (c *Cluster) Access() store.Access {
	var a store.Access
	for _, m := range c.Members() {
		a.Endpoints = append(a.Endpoints, m.Endpoint)
		for _, b := range m.Backends {
			addBackend(&a, m.Endpoint, b.Endpoint)
		}
	}
	a.Dial = c.hostDialer()
	c.trust(&a)
	return a
}

// hostDialer returns a function that connects to members from their own hosts, or nil if no host
// supports this.
func (c *Cluster) hostDialer() store.Dial {
	dialers := map[string]store.Dial{}
	for _, p := range c.places {
		if r, ok := p.host.(host.Remote); ok && p.lease != nil && r.Reach() != nil {
			dialers[p.lease.Address] = r.Reach()
		}
	}
	if len(dialers) == 0 {
		return nil
	}
	return func(ctx context.Context, endpoint string) (net.Conn, error) {
		address, _, _ := net.SplitHostPort(endpoint)
		a := store.Access{Dial: dialers[address]}
		return a.Connect(ctx, endpoint)
	}
}

// addBackend records the server behind a member that is a proxy.
func addBackend(a *store.Access, endpoint, backend string) {
	if a.Backends == nil {
		a.Backends = map[string]string{}
	}
	a.Backends[endpoint] = backend
}

// Status asks all members for their status. A member that has exited is included with an error.
func (c *Cluster) Status(ctx context.Context) (store.Status, error) { return c.admin.Status(ctx) }

// Fsync measures fdatasync in the members' data folders, once for each device on each host.
func (c *Cluster) Fsync(ctx context.Context, writes int) ([]probe.FsyncResult, error) {
	var hosts []host.Host
	dirs := map[host.Host][]string{} // several places may be on the same host
	for _, m := range c.members {
		h := m.place.host
		if !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
		dirs[h] = append(dirs[h], m.details.DataDir)
	}
	var all []probe.FsyncResult
	for _, h := range hosts {
		results, err := h.Fsync(ctx, dirs[h], writes)
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	return all, nil
}

// AllRunning reports whether all processes are running.
func (c *Cluster) AllRunning() bool {
	return !slices.ContainsFunc(c.processes(), func(p startedProcess) bool { return p.hasExited() })
}

// Signal sends a signal to all processes of the named member.
func (c *Cluster) Signal(ctx context.Context, name string, s host.Signal) error {
	m, _, err := c.find(name)
	if err != nil {
		return err
	}
	return m.signal(ctx, s)
}

// find returns the member with the given name, and its index.
func (c *Cluster) find(name string) (*member, int, error) {
	names := make([]string, len(c.members))
	for i, m := range c.members {
		if names[i] = m.description().Name; names[i] == name {
			return m, i, nil
		}
	}
	return nil, 0, fmt.Errorf("the cluster has no member %q; its members are %s", name, strings.Join(names, ", "))
}

func (m *member) signal(ctx context.Context, s host.Signal) error {
	var errs []error
	for _, p := range m.startedProcesses() {
		errs = append(errs, p.Signal(ctx, s))
	}
	return errors.Join(errs...)
}

// logFile returns the path of a process's log. It is outside the data folder, because that folder
// is removed.
func (s *Spec) logFile(p store.Process) string {
	return filepath.Join(s.logDir(), filepath.Base(p.LogFile))
}

func (s *Spec) logDir() string { return cmp.Or(s.LogDir, filepath.Join(s.Dir, "logs")) }
