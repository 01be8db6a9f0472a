// Package cluster runs a store's members on hosts: it starts them, waits until they are
// ready, reports the processes that end, and stops them. The store's package provides the
// commands as data; this package does not distinguish stores.
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
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"

	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Spec describes a cluster to start.
type Spec struct {
	Name    string // unique to this cluster, such as run-1; empty is "quorumbench"
	Members int    // at least 1
	// Hosts are the machines on which members are placed in turn. With as many hosts as
	// members, each member has its own.
	Hosts    []host.Host
	Exec     string   // a server binary; empty for the store's default
	Version  string   // the version of the installed server Exec; empty if it is another binary
	Self     string   // path of our binary; empty for the running one
	Env      []string // KEY=VALUE for every process, in addition to its own
	Settings any      // a result of the store's DecodeSettings; nil for defaults
	// Disks puts each member's data onto a disk that fails on request, on hosts that support
	// it (host.Disker).
	Disks bool
	// Network gives each member a separate network, with links that fail on request. All
	// members are then on the first host, which must support it (host.Networker).
	Network bool
	// Spare keeps a place for one more member, which joins on request.
	Spare bool
	// Dir is the folder on each host in which the cluster makes its data folder.
	Dir string
	// LogDir is the folder of the members' logs on each host; empty means "logs" below Dir.
	// Stop copies the logs from other machines to this folder here.
	LogDir string
	// StopTimeout bounds how long Stop waits for members to end after it has asked them to;
	// 0 means 5 s.
	StopTimeout time.Duration
}

// Member is a member of a running cluster.
type Member struct {
	ID      uint64 // the store's ID; 0 if it reports none
	Host    host.Host
	DataDir string    // contains its files; fdatasync is measured here
	Process           // the process that clients connect to; its name is the member's
	Behind  []Process // its other processes, such as the server behind a proxy
	// DiskServer is the process that serves a disk that fails on request; nil without such a
	// disk.
	DiskServer *Process
	// NetworkServer is the process that forwards the packets of all members. Only the first
	// member has it; nil without separate networks.
	NetworkServer *Process
}

// Processes lists all of the member's processes, starting with the one that clients connect
// to.
func (m *Member) Processes() []Process { return append([]Process{m.Process}, m.Behind...) }

// Process describes a process of a member.
type Process struct {
	Name     string // such as m1, or m1-etcd
	Endpoint string // HOST:PORT on which it serves
	PID      int    // on the member's host
	LogFile  string // on the member's host
}

// Running is a cluster that serves: either Start started it, or it ran before and its
// machines are unknown.
type Running interface {
	// Access returns how clients connect to the cluster.
	Access() store.Access
	// Members lists the members, including those that have ended, if their hosts are known.
	// Otherwise it lists none.
	Members() []Member
	// Notes returns sentences about how the cluster was started.
	Notes() []string
	// Signal sends a signal to all processes of the named member.
	Signal(ctx context.Context, member string, s host.Signal) error
	// AwaitEnd waits until all processes of the member have ended.
	AwaitEnd(ctx context.Context, member string) error
	// StartAgain starts the member's processes that have ended, with the same data, ports
	// and logs. It does not wait until they are ready.
	StartAgain(ctx context.Context, member string) error
	// StartAs works as StartAgain, with another server from now.
	StartAs(ctx context.Context, member string, s Server) error
	// StartEmpty removes the data of a member whose processes have all ended, and starts it
	// as a member that joins the others.
	StartEmpty(ctx context.Context, member string) error
	// Disk returns the disk of the member's data. It returns an error if the disk does not
	// fail on request.
	Disk(member string) (host.Disk, error)
	// NewCertificate gives a member that uses TLS a new certificate, and returns when the
	// member presents it.
	NewCertificate(ctx context.Context, member string) error
	// Spare returns the additional member that can join. It returns an error if the cluster
	// was started without one.
	Spare() (Spare, error)
	// Network returns the network that joins the members. It returns an error if that does
	// not fail on request.
	Network() (host.Network, error)
}

// Server identifies the server that members are started from: the installed server of a
// Version, which is Exec on this machine, or the binary Exec. If both are empty, it is the
// store's default.
type Server struct{ Version, Exec string }

// Exit reports that a member's process ended.
type Exit struct {
	Member  string // its name
	Process string // the process's name
	host.Exit
	// Asked reports whether Stop, or Signal with a signal that ends the process, was called
	// before.
	Asked bool
}

// Cluster is a running cluster. Its methods are safe for concurrent use.
type Cluster struct {
	spec    Spec
	store   store.Store
	places  []*place
	launch  store.Launch
	admin   store.Admin
	network host.Network // nil: the machine's network
	members []*member
	spare   *spare // nil without a place for one
	// authority signed the certificates of members that use TLS; nil if they do not.
	authority *host.Authority
	exits     chan Exit

	stopping sync.Mutex // held by Stop
	stopped  bool
	logNotes []string
	waiters  sync.WaitGroup // one for each process, until it has ended
}

var _ Running = (*Cluster)(nil)

// place holds what a cluster uses on one of its hosts.
type place struct {
	host  host.Host
	in    host.Host // the same host, or as seen from a member's network
	root  string    // contains all paths there; empty: they may be anywhere
	data  host.Claim
	lease *host.Lease // of the ports of all members on the host
}

// member is a member of the cluster with its processes.
type member struct {
	place *place
	disk  host.Disk // nil without a disk that fails on request

	mu        sync.Mutex // guards the fields below, which change when the member is started again
	about     Member
	processes []running // the process that clients connect to is the last

	// The launch for the member's next start; guarded by Cluster.stopping.
	asked  store.LaunchSpec // the request to the store
	launch store.Process
	of     host.Launch // the launch of each of its processes, except for the process's name
}

// known returns the present description of the member.
func (m *member) known() Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.about
	out.Behind = slices.Clone(out.Behind)
	return out
}

// running lists the member's started processes.
func (m *member) running() []running {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.processes)
}

// running is a started process.
type running struct {
	name    string
	logFile string       // empty if the log will be removed
	asked   *atomic.Bool // its end was requested
	host.Process
}

// ended reports whether the process has ended.
func (p *running) ended() bool {
	select {
	case <-p.Exited():
		return true
	default:
		return false
	}
}

// processes lists all members' started processes.
func (c *Cluster) processes() []running {
	var out []running
	for _, m := range c.members {
		out = append(out, m.running()...)
	}
	return out
}

// Members lists the members in order, including those that have ended.
func (c *Cluster) Members() []Member {
	out := make([]Member, len(c.members))
	for i, m := range c.members {
		out[i] = m.known()
	}
	return out
}

// Synced reports whether the store syncs before it acknowledges.
func (c *Cluster) Synced() bool { return c.launch.Synced }

// Notes returns sentences about how the cluster was started.
func (c *Cluster) Notes() []string {
	notes := slices.Clone(c.launch.Notes)
	if c.spec.Disks {
		notes = append(notes, "the members' data is on disks that fail on request: a FUSE file system of quorumbench, which is slower than the machine's disks")
	}
	switch {
	case c.authority == nil:
	case c.securedPeers():
		notes = append(notes, "clients and members use TLS with each other, with certificates that were made for the run")
	default:
		notes = append(notes, "clients use TLS with the members, with certificates that were made for the run; members do not use TLS between each other")
	}
	if c.spec.Network {
		notes = append(notes, "each member is in a separate network, and a process of quorumbench forwards every packet, which takes longer than the machine's loopback and uses processor time")
	}
	return notes
}

// Access returns how clients connect to the cluster.
func (c *Cluster) Access() store.Access {
	var a store.Access
	for _, m := range c.Members() {
		a.Endpoints = append(a.Endpoints, m.Endpoint)
		for _, b := range m.Behind {
			setBehind(&a, m.Endpoint, b.Endpoint)
		}
	}
	a.Dial = c.through()
	c.trust(&a)
	return a
}

// through returns a dialer that connects to members from their own hosts, if the hosts
// support that; otherwise nil.
func (c *Cluster) through() store.Dial {
	ways := map[string]store.Dial{}
	for _, p := range c.places {
		if r, ok := p.host.(host.Reacher); ok && p.lease != nil && r.Reach() != nil {
			ways[p.lease.Address] = r.Reach()
		}
	}
	if len(ways) == 0 {
		return nil
	}
	return func(ctx context.Context, endpoint string) (net.Conn, error) {
		address, _, _ := net.SplitHostPort(endpoint)
		a := store.Access{Dial: ways[address]}
		return a.Connect(ctx, endpoint)
	}
}

// setBehind records the server behind a member, such as a proxy's.
func setBehind(a *store.Access, endpoint, behind string) {
	if a.Behind == nil {
		a.Behind = map[string]string{}
	}
	a.Behind[endpoint] = behind
}

// Admin returns an administration connection that lives until the cluster stops.
func (c *Cluster) Admin() store.Admin { return c.admin }

// Status asks every member for its state. A member that has ended is listed with its error.
func (c *Cluster) Status(ctx context.Context) (store.Status, error) { return c.admin.Status(ctx) }

// Fsync measures fdatasync in the members' data folders, once for each device of each host.
func (c *Cluster) Fsync(ctx context.Context, writes int) ([]probe.FsyncResult, error) {
	var all []probe.FsyncResult
	for _, p := range c.places {
		var dirs []string
		for _, m := range c.members {
			if m.place == p {
				dirs = append(dirs, m.about.DataDir)
			}
		}
		results, err := p.host.Fsync(ctx, dirs, writes)
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	return all, nil
}

// Exits returns a channel with one event for each process that ended. It is closed when the
// cluster has stopped. It need not be read: events are dropped when its buffer, which has
// one place per process, is full.
func (c *Cluster) Exits() <-chan Exit { return c.exits }

// Whole reports whether all processes run.
func (c *Cluster) Whole() bool {
	return !slices.ContainsFunc(c.processes(), func(p running) bool { return p.ended() })
}

// Signal implements Running.
func (c *Cluster) Signal(ctx context.Context, name string, s host.Signal) error {
	m, _, err := c.find(name)
	if err != nil {
		return err
	}
	return m.signal(ctx, s)
}

// find returns the member with a name and its index in the launch.
func (c *Cluster) find(name string) (*member, int, error) {
	names := make([]string, len(c.members))
	for i, m := range c.members {
		if names[i] = m.known().Name; names[i] == name {
			return m, i, nil
		}
	}
	return nil, 0, fmt.Errorf("the cluster has no member %q; it has %s", name, strings.Join(names, ", "))
}

func (m *member) signal(ctx context.Context, s host.Signal) error {
	var errs []error
	for _, p := range m.running() {
		if s == host.Kill || s == host.Terminate {
			p.asked.Store(true)
		}
		errs = append(errs, p.Signal(ctx, s))
	}
	return errors.Join(errs...)
}

// reportExit sends an event to exits when a process ends.
func (c *Cluster) reportExit(m *member, p running) {
	name := m.known().Name
	c.waiters.Go(func() {
		<-p.Exited()
		select {
		case c.exits <- Exit{Member: name, Process: p.name, Exit: p.Exit(), Asked: p.asked.Load()}:
		default: // the buffer is full
		}
	})
}

// logFile returns the path of a process's log. It is not in the data folder, because that
// is removed.
func (s *Spec) logFile(p store.Process) string {
	return filepath.Join(s.logDir(), filepath.Base(p.LogFile))
}

func (s *Spec) logDir() string { return cmp.Or(s.LogDir, filepath.Join(s.Dir, "logs")) }
