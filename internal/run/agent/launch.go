package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// launcher builds the commands that are started for a controller. The store's package on this
// machine builds the command of the requested process. The launcher never executes the command in a
// request, and it rejects a request that sets other environment variables than its own command.
type launcher struct {
	stores func(name string) (store.Store, error)
	self   string // path of our binary
	folder folder
	execs  []string // paths of binaries that may be requested
}

// word matches permitted names of clusters and processes. These names appear in configuration files
// and file names.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// command returns the command to start and the files that it needs. The map marks contains the
// environment entry of each claimed folder, by path.
func (l *launcher) command(c host.Command, marks map[string]string) (host.Command, map[string][]byte, error) {
	if c.Launch == nil || c.Detach {
		return host.Command{}, nil, errors.New("the request is not the launch of a store's process, and an agent starts no other commands")
	}
	p, err := l.process(c.Launch)
	if err != nil {
		return host.Command{}, nil, err
	}
	mark := ""
	for path, env := range marks {
		if folder(path).holds(p.Dir) && p.Dir != path {
			mark = env
		}
	}
	if mark == "" {
		return host.Command{}, nil, fmt.Errorf("the folder %[2]s of member %[1]s is not in a data folder of this session", p.Name, p.Dir)
	}
	env := append(slices.Clone(p.Env), mark)
	for _, variable := range c.Env {
		if name, _, _ := strings.Cut(variable, "="); !slices.Contains(env, variable) {
			return host.Command{}, nil, fmt.Errorf("the environment variable %q cannot be set for a member on another machine; remove it", name)
		}
	}
	checked := append([]string{c.LogFile, p.Dir}, keysOf(p.Files)...)
	if err := l.folder.checkAll(checked); err != nil {
		return host.Command{}, nil, err
	}
	return host.Command{
		Path: p.Path, Args: p.Args, Env: env, Dir: p.Dir, LogFile: c.LogFile, Lifeline: store.ParentEnv + "=" + store.ParentStdin,
	}, p.Files, nil
}

func keysOf[T any](m map[string]T) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

// process returns the process of the launch that the controller requests.
func (l *launcher) process(of *host.Launch) (none store.Process, err error) {
	if !word.MatchString(of.Process) {
		return none, fmt.Errorf("the cluster name %q or process name %q is invalid: names consist of letters, digits, dots, underscores and dashes", of.Cluster, of.Process)
	}
	st, made, err := l.buildLaunch(of)
	if err != nil {
		return none, err
	}
	for i, p := range made.Processes {
		for _, one := range append(slices.Clone(p.Behind), p) {
			if one.Name == of.Process {
				return one, cmp.Or(l.checkProgram(st, of, one.Path), checkFiles(one, folder(of.Members[i].Dir)))
			}
		}
	}
	return none, fmt.Errorf("the cluster has no process %q", of.Process)
}

// launchable returns nil if the cluster's processes can be started here, and otherwise the reason.
func (l *launcher) launchable(of *host.Launch) error {
	st, made, err := l.buildLaunch(of)
	if err != nil {
		return err
	}
	first := made.Processes[0] // all members run the same programs as the first
	for _, p := range append(slices.Clone(first.Behind), first) {
		if err := l.checkProgram(st, of, p.Path); err != nil {
			return err
		}
		if _, err := exec.LookPath(p.Path); err != nil {
			return fmt.Errorf("cannot start a member of %s: %w", of.Store, err)
		}
	}
	return nil
}

// buildLaunch returns the store and its launch, which the store's package builds from the
// description in the request.
func (l *launcher) buildLaunch(of *host.Launch) (st store.Store, made store.Launch, err error) {
	if err := checkPlaces(of); err != nil {
		return nil, made, err
	}
	if of.Exec != "" && !slices.Contains(l.execs, of.Exec) {
		return nil, made, fmt.Errorf("the server %q was specified by its path, but an agent starts only servers that are installed on its machine or permitted with --exec; specify a version instead, or start the agent with --exec and this path", of.Exec)
	}
	if st, err = l.stores(of.Store); err != nil {
		return nil, made, err
	}
	spec := store.LaunchSpec{Cluster: of.Cluster, Members: of.Members, Self: l.self, Joining: of.Joining, Credentials: of.Credentials}
	if spec.Settings, err = settings(st, of.Settings); err != nil {
		return nil, made, err
	}
	if spec.Exec = of.Exec; of.Exec == "" {
		spec.Exec, err = install.Version(st, of.Version)
	}
	if err != nil {
		return nil, made, err
	}
	made, err = st.Launch(spec)
	return st, made, err
}

// checkPlaces returns an error if a name, an address, a port or a folder in the launch is not
// permitted. The error is one sentence.
func checkPlaces(of *host.Launch) error {
	if !word.MatchString(of.Cluster) {
		return fmt.Errorf("the cluster name %q is invalid: names consist of letters, digits, dots, underscores and dashes", of.Cluster)
	}
	if len(of.Members) > kv.MaxMembers {
		return fmt.Errorf("a cluster has at most %d members, not %d", kv.MaxMembers, len(of.Members))
	}
	for _, m := range of.Members {
		bad := slices.ContainsFunc(m.Ports, func(port int) bool { return port < 1 || port > 65535 })
		if !word.MatchString(m.Name) || net.ParseIP(m.Host) == nil || bad || len(m.Ports) > 2*store.PortsPerMember || filepath.Clean(m.Dir) != m.Dir {
			return fmt.Errorf("the member %q at %q is invalid: a member requires a name of letters, digits, dots, underscores and dashes, an IP address, ports from 1 to 65535, and a folder", m.Name, m.Host)
		}
	}
	return nil
}

// settings decodes the store's settings. It rejects settings that must not come from another
// machine.
func settings(st store.Store, text json.RawMessage) (any, error) {
	if len(text) == 0 {
		return st.DecodeSettings(nil)
	}
	v, err := st.DecodeSettings(func(into any) error {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			return fmt.Errorf("cannot read the settings of %s: %w", st.Name(), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if c, ok := v.(store.LaunchSettings); ok {
		return v, c.CheckConfined()
	}
	return v, nil
}

// checkProgram returns an error unless the program is our binary, a permitted binary that was
// requested by path, an installed server, or a program that the store's server needs.
func (l *launcher) checkProgram(st store.Store, of *host.Launch, path string) error {
	if path == l.self || path == of.Exec {
		return nil
	}
	source, err := st.Server(of.Version)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(source.Tools, func(t store.Tool) bool { return t.Running && t.Name == path }) {
		return nil
	}
	if installed, ok, err := install.Installed(source); err == nil && ok && folder(installed).holds(path) {
		return nil
	}
	return fmt.Errorf("the program %s is not an installed server of %s", path, st.Name())
}

// checkFiles returns an error if a process has files outside its member's folder.
func checkFiles(p store.Process, member folder) error {
	for _, path := range append(keysOf(p.Files), p.Dir, p.DataDir) {
		if path != "" && !member.holds(path) {
			return fmt.Errorf("the path %s is outside the member's folder %s", path, member)
		}
	}
	return nil
}

// writeFiles writes the files that a process needs before it starts.
func writeFiles(ctx context.Context, h host.Host, files map[string][]byte) error {
	for path, contents := range files {
		if err := h.MakeDir(ctx, filepath.Dir(path)); err != nil {
			return err
		}
		if err := h.WriteFile(ctx, path, contents); err != nil {
			return err
		}
	}
	return nil
}
