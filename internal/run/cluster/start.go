package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// portAttempts limits how often a start is attempted. An attempt fails if another program takes a
// port after we have found it free and before the member listens on it.
const portAttempts = 4

// Start starts a cluster. It returns when all members respond and agree on a leader. If it fails or
// ctx is canceled, only the logs remain. The members never outlive this process.
func Start(ctx context.Context, st store.Store, spec Spec) (*Cluster, error) {
	if err := spec.complete(); err != nil {
		return nil, err
	}
	if len(spec.Hosts) == 0 {
		return nil, errors.New("a cluster requires a host for its members")
	}
	var err error
	for range portAttempts {
		var c *Cluster
		if c, err = startOnce(ctx, st, spec); err == nil {
			return c, nil
		}
		var failed *startError
		if !errors.As(err, &failed) || !failed.portInUse() {
			return nil, err
		}
	}
	return nil, fmt.Errorf("other programs took the ports in each of %d attempts: %w", portAttempts, err)
}

// complete checks the spec and sets its defaults.
func (s *Spec) complete() error {
	if s.Members < 1 || s.Members > kv.MaxMembers {
		return fmt.Errorf("cannot start a cluster of %d members; choose a number from 1 to %d", s.Members, kv.MaxMembers)
	}
	if s.Dir == "" {
		return errors.New("a cluster requires a folder for its data")
	}
	if s.Name == "" {
		s.Name = "quorumbench"
	}
	for _, path := range []*string{&s.Dir, &s.LogDir, &s.Exec} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("cannot resolve the path %s: %w", *path, err)
		}
		*path = absolute
	}
	if s.Self == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("cannot find the quorumbench binary: %w", err)
		}
		s.Self = self
	}
	return nil
}

// startOnce makes one attempt to start the cluster, on new ports.
func startOnce(ctx context.Context, st store.Store, spec Spec) (_ *Cluster, err error) {
	c := &Cluster{spec: spec, store: st}
	defer func() {
		if err != nil {
			// err is more important than an error from stop.
			_ = c.stop(context.Background(), 0)
		}
	}()
	if err := c.createNetwork(ctx); err != nil {
		return nil, err
	}
	places, err := c.claimPlaces(ctx)
	if err != nil {
		return nil, err
	}
	request := launchSpec(spec, filepath.Base(c.places[0].data.Path()), places[:spec.Members:spec.Members])
	request.Remote = !slices.ContainsFunc(c.places, func(p *place) bool { return p.root == "" })
	if request.Credentials, err = c.makeCredentials(places); err != nil {
		return nil, err
	}
	if c.launch, err = st.Launch(request); err != nil {
		return nil, err
	}
	hostLaunch, err := describeLaunch(st, spec, request)
	if err != nil {
		return nil, err
	}
	if err := c.reservePlace(request, hostLaunch, places); err != nil {
		return nil, err
	}
	for i, p := range c.launch.Processes {
		if err := c.startMember(ctx, &member{place: c.placeOfMember(i), spec: request, launch: p, hostLaunch: hostLaunch}); err != nil {
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

// claimPlaces claims a folder and reserves ports on each host. It returns the place of each member.
func (c *Cluster) claimPlaces(ctx context.Context) ([]kv.MemberPlace, error) {
	if c.network != nil {
		for i := range c.spec.places() {
			c.places = append(c.places, &place{host: c.spec.Hosts[0], networkHost: c.network.Member(i)})
		}
	} else {
		for _, h := range c.spec.Hosts[:min(len(c.spec.Hosts), c.spec.Members)] {
			c.places = append(c.places, &place{host: h, networkHost: h})
		}
	}
	members := make([]kv.MemberPlace, c.spec.places())
	for k, p := range c.places {
		description, err := p.host.Describe(ctx)
		if err != nil {
			return nil, err
		}
		p.root = description.Folder
		if p.data, err = p.host.Claim(ctx, p.path(c.spec.Dir)); err != nil {
			return nil, err
		}
		n := (c.spec.places() - k + len(c.places) - 1) / len(c.places) // number of members on this host
		if p.lease, err = p.networkHost.Ports(ctx, n*store.PortsPerMember); err != nil {
			return nil, err
		}
		for i := range n {
			at := k + i*len(c.places)
			members[at] = memberPlace(at, p.data.Path(), p.lease.Address, p.lease.Ports[i*store.PortsPerMember:])
			members[at].PeerTLS = c.peersUseTLS()
		}
	}
	return members, nil
}

// placeOfMember returns the place of the i-th member.
func (c *Cluster) placeOfMember(i int) *place { return c.places[i%len(c.places)] }

// path converts a path in the spec to the path on the host.
func (p *place) path(specPath string) string { return filepath.Join(p.root, specPath) }

// memberPlace returns the place of the i-th member: a folder in dir, and the first PortsPerMember
// ports.
func memberPlace(i int, dir, address string, ports []int) kv.MemberPlace {
	return kv.MemberPlace{
		Name: memberName(i), Host: address, Ports: ports[:store.PortsPerMember:store.PortsPerMember], Dir: filepath.Join(dir, memberName(i)),
	}
}

// launchSpec returns the request to the store. The cluster's name is the name in the spec, followed
// by the parameter `unique`. No other cluster has the same value of `unique`.
func launchSpec(spec Spec, unique string, members []kv.MemberPlace) store.LaunchSpec {
	return store.LaunchSpec{
		Cluster: spec.Name + "-" + unique, Members: members, Exec: spec.Exec, Self: spec.Self, Settings: spec.Settings,
	}
}

// describeLaunch returns a description of the launch for hosts that build the commands themselves.
func describeLaunch(st store.Store, spec Spec, request store.LaunchSpec) (host.Launch, error) {
	l := host.Launch{Store: st.Name(), Version: spec.Version, Cluster: request.Cluster, Members: request.Members, Credentials: request.Credentials}
	if l.Version == "" {
		l.Exec = spec.Exec
	}
	var err error
	if request.Settings != nil {
		l.Settings, err = json.Marshal(request.Settings)
	}
	return l, err
}

func (c *Cluster) startMember(ctx context.Context, m *member) error {
	m.details = c.describe(m)
	if c.network != nil && len(c.members) == 0 {
		m.details.NetworkServer = &Process{Name: "network", PID: c.network.PID()}
	}
	c.members = append(c.members, m)
	if err := c.mountDisk(ctx, m); err != nil {
		return err
	}
	return c.startProcesses(ctx, m)
}

// describe returns the description of a member that is not started yet.
func (c *Cluster) describe(m *member) Member {
	at, p := m.place, m.launch
	known := Member{Host: at.host, DataDir: p.DataDir, Process: c.process(at, p)}
	for _, b := range p.Backends {
		known.Backends = append(known.Backends, c.process(at, b))
	}
	return known
}

// process returns the description of a process that is not started yet.
func (c *Cluster) process(hostPlace *place, p store.Process) Process {
	return Process{Name: p.Name, Endpoint: p.Endpoint, LogFile: hostPlace.path(c.spec.logFile(p))}
}

// startProcesses starts those processes of a member that are not running. The process that clients
// connect to is started last.
func (c *Cluster) startProcesses(ctx context.Context, m *member) error {
	for i, b := range append(slices.Clone(m.launch.Backends), m.launch) {
		now := m.startedProcesses()
		if i < len(now) && !now[i].hasExited() {
			continue
		}
		if err := c.startMemberProcess(ctx, m, i, b); err != nil {
			return err
		}
	}
	return nil
}

// startMemberProcess starts the i-th process of a member.
func (c *Cluster) startMemberProcess(ctx context.Context, m *member, i int, p store.Process) error {
	p.LogFile = m.place.path(c.spec.logFile(p))
	p.Env = append(p.Env[:len(p.Env):len(p.Env)], c.spec.Env...)
	if m.place.root != "" {
		p.Files = nil // the host creates the files itself
	}
	hostLaunch := m.hostLaunch
	hostLaunch.Process = p.Name
	process, err := startProcess(ctx, m.place.networkHost, p, m.place.data.Env(), &hostLaunch)
	if err != nil {
		return err
	}
	m.setProcess(i, startedProcess{p.Name, p.LogFile, process})
	return m.place.data.Note(ctx, process.Identity())
}

// setProcess records the i-th process of the member after its first start or a restart.
func (m *member) setProcess(i int, p startedProcess) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i == len(m.processes) {
		m.processes = append(m.processes, p)
	} else {
		m.processes[i] = p
	}
	if pid := p.Identity().PID; i < len(m.details.Backends) {
		m.details.Backends[i].PID = pid
	} else {
		m.details.PID = pid
	}
}

// startProcess writes a process's files and starts the process. mark is an environment variable
// (KEY=VALUE) by which the process and its folder are recognized later. If launch is nil, the
// process can outlive ours.
func startProcess(ctx context.Context, h host.Host, p store.Process, mark string, launch *host.Launch) (host.Process, error) {
	for _, dir := range []string{p.Dir, filepath.Dir(p.LogFile)} {
		if err := h.MakeDir(ctx, dir); err != nil {
			return nil, err
		}
	}
	for name, contents := range p.Files {
		if err := h.MakeDir(ctx, filepath.Dir(name)); err != nil {
			return nil, err
		}
		if err := h.WriteFile(ctx, name, contents); err != nil {
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
		Detach:   launch == nil,
		Launch:   launch,
	}
	if launch == nil { // the process must not use our own parent's lifeline
		command.Env = append(command.Env, store.ParentEnv+"=")
	}
	return h.Start(ctx, command)
}

// startError reports that a member exited before the cluster was ready.
type startError struct {
	member  string
	logFile string // empty if the log was removed
	exit    host.Exit
}

func (e *startError) Error() string {
	log := "its log"
	if e.logFile != "" {
		log += " " + e.logFile
	}
	return fmt.Sprintf("member %s exited (%s) before the cluster was ready; the last lines of %s are: %s",
		e.member, e.exit, log, lastLines(e.exit.Tail))
}

// portInUse reports whether the end of the log contains the system's message for EADDRINUSE, which
// all runtimes print.
func (e *startError) portInUse() bool {
	return strings.Contains(strings.ToLower(strings.Join(e.exit.Tail, "\n")), "address already in use")
}

// Limits for the end of a log in an error.
const (
	maxErrorLines = 3
	maxErrorBytes = 400 // per line
)

func lastLines(tail []string) string {
	if len(tail) == 0 {
		return "(nothing)"
	}
	var out []string
	for _, line := range tail[max(0, len(tail)-maxErrorLines):] {
		// Only the server's developers need the stack trace. They find it in the log.
		line, _, _ = strings.Cut(line, `,"stacktrace":`)
		if len(line) > maxErrorBytes {
			line = strings.ToValidUTF8(line[:maxErrorBytes], "") + "..."
		}
		out = append(out, strings.TrimSpace(line))
	}
	return strings.Join(out, " | ")
}
