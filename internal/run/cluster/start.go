package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// portAttempts is how often a start is tried when another program took a port
// between our look at it and the member's.
const portAttempts = 4

// defaultStopTimeout is that of Spec.
const defaultStopTimeout = 5 * time.Second

// Start starts a cluster and returns when all members answer and agree on a
// leader. When it fails, or ctx ends, nothing of the cluster is left but its
// logs. Its members never outlive this process.
func Start(ctx context.Context, h host.Host, st store.Store, spec Spec) (*Cluster, error) {
	if err := spec.complete(); err != nil {
		return nil, err
	}
	var err error
	for range portAttempts {
		var c *Cluster
		if c, err = startOnce(ctx, h, st, spec); err == nil {
			return c, nil
		}
		var failed *startError
		if !errors.As(err, &failed) || !failed.portInUse() {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the ports were taken by other programs %d times: %w", portAttempts, err)
}

// complete checks the spec and fills in its defaults.
func (s *Spec) complete() error {
	if s.Members < 1 || s.Members > kv.MaxMembers {
		return fmt.Errorf("a cluster of %d members cannot be started; choose from 1 to %d", s.Members, kv.MaxMembers)
	}
	if s.Dir == "" {
		return errors.New("a cluster needs a folder for its data")
	}
	if s.Name == "" {
		s.Name = "quorumbench"
	}
	if s.StopTimeout <= 0 {
		s.StopTimeout = defaultStopTimeout
	}
	for _, path := range []*string{&s.Dir, &s.LogDir, &s.Exec} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("the path %s cannot be resolved: %w", *path, err)
		}
		*path = absolute
	}
	if s.Self == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("our own binary cannot be found: %w", err)
		}
		s.Self = self
	}
	return nil
}

// startOnce is one attempt, on ports of its own.
func startOnce(ctx context.Context, h host.Host, st store.Store, spec Spec) (_ *Cluster, err error) {
	c := &Cluster{host: h, spec: spec, exits: make(chan Exit)}
	defer func() {
		if err != nil {
			// The attempt's own error is the one to tell.
			_ = c.stop(context.Background(), 0, false)
		}
	}()
	if c.data, err = h.Claim(spec.Dir); err != nil {
		return nil, err
	}
	if c.lease, err = h.Ports(ctx, spec.Members*store.PortsPerMember); err != nil {
		return nil, err
	}
	c.launch, err = st.Launch(launchSpec(spec, c.data.Path(), c.lease))
	if err != nil {
		return nil, err
	}
	c.exits = make(chan Exit, processes(&c.launch)) // room for all
	for _, p := range c.launch.Processes {
		if err := c.startMember(p); err != nil {
			return nil, err
		}
	}
	if c.admin, err = st.Admin(c.Access()); err != nil {
		return nil, err
	}
	if err := c.awaitReady(ctx, st.Name()); err != nil {
		return nil, err
	}
	return c, nil
}

// processes is how many there are.
func processes(l *store.Launch) int {
	n := 0
	for _, p := range l.Processes {
		n += len(p.Behind) + 1
	}
	return n
}

// launchSpec gives each member a folder below dir and its share of the ports.
func launchSpec(spec Spec, dir string, lease *host.Lease) store.LaunchSpec {
	l := store.LaunchSpec{
		Cluster:  spec.Name + "-" + filepath.Base(dir),
		Exec:     spec.Exec,
		Self:     spec.Self,
		Settings: spec.Settings,
	}
	for i := range spec.Members {
		name := memberName(i)
		l.Members = append(l.Members, store.MemberPlace{
			Name:  name,
			Host:  lease.Host,
			Ports: lease.Ports[i*store.PortsPerMember : (i+1)*store.PortsPerMember],
			Dir:   filepath.Join(dir, name),
		})
	}
	return l
}

func (c *Cluster) startMember(p store.Process) error {
	m := &member{Member: Member{Name: p.Name, Endpoint: p.Endpoint, DataDir: p.DataDir, LogFile: c.spec.logFile(p)}}
	c.members = append(c.members, m)
	for _, b := range p.Behind {
		started, err := c.startOne(m, b)
		if err != nil {
			return err
		}
		m.Behind = append(m.Behind, Backing{
			Name: b.Name, Endpoint: b.Endpoint, PID: started.Identity().PID, LogFile: started.logFile,
		})
	}
	started, err := c.startOne(m, p)
	if err != nil {
		return err
	}
	m.PID = started.Identity().PID
	return nil
}

// startOne starts one of a member's processes.
func (c *Cluster) startOne(m *member, p store.Process) (running, error) {
	p.LogFile = c.spec.logFile(p)
	p.Env = append(p.Env[:len(p.Env):len(p.Env)], c.spec.Env...)
	process, err := startProcess(c.host, p, c.data.Env(), false)
	if err != nil {
		return running{}, err
	}
	started := running{p.Name, p.LogFile, process}
	m.processes = append(m.processes, started)
	c.watch(m, started)
	return started, c.data.Note(process.Identity())
}

// startProcess prepares a process's files and starts it. mark is a KEY=VALUE of
// its environment by which it is recognized as working in its folder.
func startProcess(h host.Host, p store.Process, mark string, detach bool) (host.Process, error) {
	for _, dir := range []string{p.Dir, filepath.Dir(p.LogFile)} {
		if err := h.MakeDir(dir); err != nil {
			return nil, err
		}
	}
	for name, contents := range p.Files {
		if err := h.MakeDir(filepath.Dir(name)); err != nil {
			return nil, err
		}
		if err := h.WriteFile(name, contents); err != nil {
			return nil, err
		}
	}
	command := host.Command{
		Path:     p.Path,
		Args:     p.Args,
		Env:      append(slices.Clone(p.Env), mark),
		Dir:      p.Dir,
		LogFile:  p.LogFile,
		Lifeline: store.ParentEnv + "=" + store.ParentStdin,
		Detach:   detach,
	}
	if detach { // we may be somebody's child, and it must not think that it is ours
		command.Env = append(command.Env, store.ParentEnv+"=")
	}
	return h.Start(command)
}

// startError says which member ended before the cluster was ready.
type startError struct {
	member  string
	logFile string // empty if it was removed
	exit    host.Exit
}

func (e *startError) Error() string {
	log := "its log"
	if e.logFile != "" {
		log += " " + e.logFile
	}
	return fmt.Sprintf("member %s ended (%s) before the cluster was ready; %s ends with: %s",
		e.member, e.exit, log, lastWords(e.exit.Tail))
}

// portInUse recognizes the system's words for EADDRINUSE, as every runtime
// repeats them.
func (e *startError) portInUse() bool {
	return strings.Contains(strings.ToLower(strings.Join(e.exit.Tail, "\n")), "address already in use")
}

// The last words of a log that fit into a sentence.
const (
	wordLines = 3
	wordBytes = 400 // of a line
)

func lastWords(tail []string) string {
	if len(tail) == 0 {
		return "(nothing)"
	}
	var out []string
	for _, line := range tail[max(0, len(tail)-wordLines):] {
		// Where in its code a server gave up is for its developers, in its log.
		line, _, _ = strings.Cut(line, `,"stacktrace":`)
		if len(line) > wordBytes {
			line = strings.ToValidUTF8(line[:wordBytes], "") + "..."
		}
		out = append(out, strings.TrimSpace(line))
	}
	return strings.Join(out, " | ")
}
