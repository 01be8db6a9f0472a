// Package cluster runs a store's members on hosts: it starts them, asks until
// they are ready, reports who ended, and stops them. What to start is the store's
// data; nothing here knows one store from another.
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

// Spec says which cluster is wanted.
type Spec struct {
	Name    string // unique to this cluster, such as run-1; empty is "quorumbench"
	Members int    // at least 1
	// Hosts are the machines that members are placed on in turn: with as many as
	// there are members, each has its own.
	Hosts    []host.Host
	Exec     string   // another server binary; empty for the store's default
	Version  string   // of the installed server that Exec is; empty if it is none
	Self     string   // our own binary; empty for the running one
	Env      []string // KEY=VALUE that every process gets, in addition to its own
	Settings any      // what the store's DecodeSettings returned; nil for defaults
	// Disks has each member's data on a disk that fails on request, on hosts that can
	// have such (host.Disker).
	Disks bool
	// Network has each member in a network of its own, with links that fail on request.
	// All are on the first of the hosts then, which can have such (host.Networker).
	Network bool
	// Spare has a place kept for a further member, which joins when it is asked to.
	Spare bool
	// Dir is the folder in which the cluster makes a data folder of its own, on
	// each host.
	Dir string
	// LogDir is the folder of the members' logs, on each host; empty is "logs"
	// below Dir. Stop brings those of other machines to the one here.
	LogDir string
	// StopTimeout bounds how long Stop waits for members that were asked to
	// end; 0 is 5 s.
	StopTimeout time.Duration
}

// Member is one member of a running cluster.
type Member struct {
	ID      uint64 // as the store calls it; 0 if it does not say
	Host    host.Host
	DataDir string    // where its files are, and where fdatasync is measured
	Process           // the one that clients talk to; its name is the member's
	Behind  []Process // its further processes, such as the server behind a proxy
	// DiskServer is the process that serves a disk that fails on request; nil for a
	// member on one of the machine's.
	DiskServer *Process
	// NetworkServer is the process that forwards the packets of all members, which the
	// first has alone; nil where members have no networks of their own.
	NetworkServer *Process
}

// Processes lists all of the member's processes, the one that clients talk to
// first.
func (m *Member) Processes() []Process { return append([]Process{m.Process}, m.Behind...) }

// Process is one of a member's processes.
type Process struct {
	Name     string // such as m1, or m1-etcd
	Endpoint string // HOST:PORT at which it serves
	PID      int    // on the member's host
	LogFile  string // there
}

// Running is a cluster that serves: one that was started here, or one that ran
// already, of whose machines nothing is known.
type Running interface {
	// Access is how clients reach it.
	Access() store.Access
	// Members lists the members whose hosts are known, those that ended among
	// them: all of them or none.
	Members() []Member
	// Notes are sentences about how it was started.
	Notes() []string
	// Signal sends a signal to all processes of the known member with that name.
	Signal(ctx context.Context, member string, s host.Signal) error
	// AwaitEnd waits until all processes of the known member have ended.
	AwaitEnd(ctx context.Context, member string) error
	// StartAgain starts those processes of the known member that have ended, with
	// the member's data, ports and logs. It does not wait until they are ready.
	StartAgain(ctx context.Context, member string) error
	// StartAs is StartAgain from another server, from now on.
	StartAs(ctx context.Context, member string, s Server) error
	// StartEmpty is StartAgain of a member whose processes have ended without its
	// data: it joins the others.
	StartEmpty(ctx context.Context, member string) error
	// Disk is the one that the known member's data are on. It is an error for one
	// whose disk does not fail on request.
	Disk(member string) (host.Disk, error)
	// NewCertificate has the known member, which speaks TLS, have another certificate, and
	// returns when it shows that to who connects.
	NewCertificate(ctx context.Context, member string) error
	// Spare is the further member that can join. It is an error for a cluster that has
	// no place for one.
	Spare() (Spare, error)
	// Network is what joins the members. It is an error for a cluster whose network does
	// not fail on request.
	Network() (host.Network, error)
}

// Server is what members are started from: the installed server of a Version, which
// is Exec on this machine, or the binary Exec; neither for the store's own.
type Server struct{ Version, Exec string }

// Exit says that a member's process ended.
type Exit struct {
	Member  string // its name
	Process string // the process's: the member's, or that of one behind it
	host.Exit
	// Asked is true if Stop, or Signal with a signal that ends, was called before.
	Asked bool
}

// Cluster is a cluster that runs. Its methods may be called from several
// goroutines.
type Cluster struct {
	spec    Spec
	store   store.Store
	places  []*place
	launch  store.Launch
	admin   store.Admin
	network host.Network // nil for the machine's
	members []*member
	spare   *spare // nil without a place for one
	// authority signed the certificates of members that speak TLS; nil where they do not.
	authority *host.Authority
	exits     chan Exit

	stopping sync.Mutex // held by Stop
	stopped  bool
	logNotes []string
	waiters  sync.WaitGroup // for exits
}

var _ Running = (*Cluster)(nil)

// place is what a cluster has on one of its hosts.
type place struct {
	host  host.Host
	in    host.Host // the same, or as members in a network of their own have it
	root  string    // below which all paths are there; empty: anywhere
	data  host.Claim
	lease *host.Lease // of the ports of all members there
}

// member is what is known of one member.
type member struct {
	place *place
	disk  host.Disk // nil for one of the machine's

	mu        sync.Mutex // for what follows, which changes when it is started again
	about     Member
	processes []running // the one that clients talk to is the last

	// What it is started from the next time; the cluster's stopping is held for it.
	asked  store.LaunchSpec // of the store
	launch store.Process
	of     host.Launch // what of it each process is, but for its name
}

// known is what is known of the member now.
func (m *member) known() Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.about
	out.Behind = slices.Clone(out.Behind)
	return out
}

// running lists its processes.
func (m *member) running() []running {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.processes)
}

// running is a process that was started.
type running struct {
	name    string
	logFile string       // empty if it will be removed
	asked   *atomic.Bool // it was to end
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

// processes lists all members' processes.
func (c *Cluster) processes() []running {
	var out []running
	for _, m := range c.members {
		out = append(out, m.running()...)
	}
	return out
}

// Members lists the members in their order, those that ended among them.
func (c *Cluster) Members() []Member {
	out := make([]Member, len(c.members))
	for i, m := range c.members {
		out[i] = m.known()
	}
	return out
}

// Synced says whether the store syncs before it acknowledges.
func (c *Cluster) Synced() bool { return c.launch.Synced }

// Notes are the store's sentences about how it was started.
func (c *Cluster) Notes() []string {
	notes := slices.Clone(c.launch.Notes)
	if c.spec.Disks {
		notes = append(notes, "the members' data are on disks that fail on request, which are a file system of quorumbench's (FUSE) and slower than the machine's")
	}
	switch {
	case c.authority == nil:
	case c.securedPeers():
		notes = append(notes, "clients speak TLS with the members, and these with each other, by certificates that were made for the run")
	default:
		notes = append(notes, "clients speak TLS with the members, by certificates that were made for the run; the members among themselves do not")
	}
	if c.spec.Network {
		notes = append(notes, "each member is in a network of its own, and a process of quorumbench's forwards every packet, which takes longer than the machine's loopback and takes processor time")
	}
	return notes
}

// Access is how to reach the cluster.
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

// through leads to members from their own hosts, where those do that for us; nil
// where none does.
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

// setBehind notes the server behind a member, such as a proxy's.
func setBehind(a *store.Access, endpoint, behind string) {
	if a.Behind == nil {
		a.Behind = map[string]string{}
	}
	a.Behind[endpoint] = behind
}

// Admin is a connection for administration that lives until the cluster stops.
func (c *Cluster) Admin() store.Admin { return c.admin }

// Status asks every member. An ended one is listed with its error.
func (c *Cluster) Status(ctx context.Context) (store.Status, error) { return c.admin.Status(ctx) }

// Fsync measures fdatasync where the members keep their data: once for each
// device of each host.
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

// Exits carries one event for each process that ended. It is closed when the
// cluster has stopped, and need not be read: what is beyond as many as the cluster
// has processes is dropped.
func (c *Cluster) Exits() <-chan Exit { return c.exits }

// Whole reports whether no process has ended.
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

// find returns the member with a name, and its place in the launch.
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

// reportExit puts a process's exit into exits.
func (c *Cluster) reportExit(m *member, p running) {
	name := m.known().Name
	c.waiters.Go(func() {
		<-p.Exited()
		select {
		case c.exits <- Exit{Member: name, Process: p.name, Exit: p.Exit(), Asked: p.asked.Load()}:
		default: // nobody reads
		}
	})
}

// logFile is where a process's log goes: with the others', because the data
// folder is removed.
func (s *Spec) logFile(p store.Process) string {
	return filepath.Join(s.logDir(), filepath.Base(p.LogFile))
}

func (s *Spec) logDir() string { return cmp.Or(s.LogDir, filepath.Join(s.Dir, "logs")) }
