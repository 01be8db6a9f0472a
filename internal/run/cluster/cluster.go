// Package cluster runs a store's members on a host: it starts them, asks until
// they are ready, tells who leads and who ended, and stops them. What to start
// is the store's data; nothing here knows one store from another.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Spec says which cluster is wanted.
type Spec struct {
	Name     string   // unique to this cluster, such as run-1; empty is "quorumbench"
	Members  int      // at least 1
	Exec     string   // another server binary; empty for the store's default
	Self     string   // our own binary; empty for the running one
	Env      []string // KEY=VALUE that every process gets, beside its own
	Settings any      // what the store's DecodeSettings returned; nil for defaults
	// Dir is the folder in which the cluster makes a data folder of its own.
	Dir string
	// LogDir is the folder of the members' logs; empty is "logs" below Dir.
	LogDir string
	// KeepData leaves the data folder where it is when the cluster stops.
	KeepData bool
	// StopTimeout bounds how long Stop waits for members that were asked to
	// end; 0 is 5 s.
	StopTimeout time.Duration
}

// Member is one member of a running cluster.
type Member struct {
	ID       uint64 // as the store calls it; 0 if it does not say
	Name     string // such as m1
	Endpoint string // HOST:PORT for clients
	PID      int
	DataDir  string // where its files are, and where fdatasync is measured
	LogFile  string
	Behind   []Backing // its further processes, such as the server behind a proxy
}

// Backing is a further process of a member.
type Backing struct {
	Name     string // such as m1-etcd
	Endpoint string // HOST:PORT at which it serves
	PID      int
	LogFile  string
}

// Exit says that a member's process ended.
type Exit struct {
	Member  string // its name
	Process string // the process's: the member's, or that of one behind it
	host.Exit
	// Asked is true if Stop, Wipe or Kill with a signal that ends was called.
	Asked bool
}

// Cluster is a cluster that runs. Its methods may be called from several
// goroutines.
type Cluster struct {
	host    host.Host
	spec    Spec
	launch  store.Launch
	data    host.Claim
	lease   *host.Lease
	admin   store.Admin
	members []*member
	exits   chan Exit

	stopping sync.Mutex // held by Stop and Wipe
	stopped  bool
	watchers sync.WaitGroup
}

// member is what is known of one member.
type member struct {
	Member
	processes []running // the one that clients talk to is the last
	mu        sync.Mutex
	asked     bool
}

// running is a process that was started.
type running struct {
	name    string
	logFile string // empty if it will be removed
	host.Process
}

// processes lists all members' processes.
func (c *Cluster) processes() []running {
	var out []running
	for _, m := range c.members {
		out = append(out, m.processes...)
	}
	return out
}

// Endpoints lists the members' client endpoints, in the order of the members.
func (c *Cluster) Endpoints() []string {
	out := make([]string, len(c.members))
	for i, m := range c.members {
		out[i] = m.Endpoint
	}
	return out
}

// Members lists the members, those that ended among them.
func (c *Cluster) Members() []Member {
	out := make([]Member, len(c.members))
	for i, m := range c.members {
		out[i] = m.Member
	}
	return out
}

// Dir is the cluster's data folder.
func (c *Cluster) Dir() string { return c.data.Path() }

// Synced says whether the store syncs before it acknowledges.
func (c *Cluster) Synced() bool { return c.launch.Synced }

// Notes are the store's sentences about how it was started.
func (c *Cluster) Notes() []string { return c.launch.Notes }

// Access is how to reach the cluster.
func (c *Cluster) Access() store.Access {
	a := store.Access{Endpoints: c.Endpoints()}
	for _, m := range c.members {
		for _, b := range m.Behind {
			if a.Behind == nil {
				a.Behind = map[string]string{}
			}
			a.Behind[m.Endpoint] = b.Endpoint
		}
	}
	return a
}

// Admin is a connection for administration that lives until the cluster stops.
func (c *Cluster) Admin() store.Admin { return c.admin }

// Status asks every member. An ended one is listed with its error.
func (c *Cluster) Status(ctx context.Context) (store.Status, error) { return c.admin.Status(ctx) }

// LeaderID asks who leads; 0 if nobody does.
func (c *Cluster) LeaderID(ctx context.Context) (uint64, error) {
	s, err := c.admin.Status(ctx)
	if err != nil {
		return 0, err
	}
	if l := s.Leader(); l != nil {
		return l.ID, nil
	}
	return 0, nil
}

// Exits carries one event for each process of a member that ended. It is closed
// when the cluster has stopped, and need not be read.
func (c *Cluster) Exits() <-chan Exit { return c.exits }

// Kill sends a signal to the member with the given name, all its processes.
func (c *Cluster) Kill(name string, signal host.Signal) error {
	for _, m := range c.members {
		if m.Name == name {
			return m.signal(signal)
		}
	}
	return fmt.Errorf("the cluster has no member %q; it has %s", name, c.names())
}

func (c *Cluster) names() string {
	out := ""
	for i, m := range c.members {
		if i > 0 {
			out += ", "
		}
		out += m.Name
	}
	return out
}

func (m *member) signal(s host.Signal) error {
	if s == host.Kill || s == host.Terminate {
		m.mu.Lock()
		m.asked = true
		m.mu.Unlock()
	}
	var errs []error
	for _, p := range m.processes {
		errs = append(errs, p.Signal(s))
	}
	return errors.Join(errs...)
}

// watch reports a process's exit.
func (c *Cluster) watch(m *member, p running) {
	c.watchers.Go(func() {
		<-p.Exited()
		m.mu.Lock()
		asked := m.asked
		m.mu.Unlock()
		c.exits <- Exit{Member: m.Name, Process: p.name, Exit: p.Exit(), Asked: asked}
	})
}

// logFile is where a process's log goes: beside the others', because the data
// folder is removed.
func (s *Spec) logFile(p store.Process) string {
	dir := s.LogDir
	if dir == "" {
		dir = filepath.Join(s.Dir, "logs")
	}
	return filepath.Join(dir, filepath.Base(p.LogFile))
}
