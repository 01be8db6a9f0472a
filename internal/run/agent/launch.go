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
// request, and it rejects a request with an environment variable that the command built here does
// not set.
type launcher struct {
	stores func(name string) (store.Store, error)
	self   string // path of our binary
	folder folder
	execs  []string // paths of binaries that may be requested
}

// safeName matches permitted names of clusters and processes. These names appear in configuration
// files and file names.
var safeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// command returns the command to start and the files that it needs. The parameter `marks` contains
// the environment entry of each claimed folder, by path.
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
		if folder(path).contains(p.Dir) && p.Dir != path {
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
func (l *launcher) process(launch *host.Launch) (requested store.Process, err error) {
	if !safeName.MatchString(launch.Process) {
		return requested, fmt.Errorf("the process name %q is invalid: names consist of letters, digits, dots, underscores and dashes", launch.Process)
	}
	st, built, err := l.buildLaunch(launch)
	if err != nil {
		return requested, err
	}
	for i, p := range built.Processes {
		for _, one := range append(slices.Clone(p.Backends), p) {
			if one.Name == launch.Process {
				return one, cmp.Or(l.checkProgram(st, launch, one.Path), checkFiles(one, folder(launch.Members[i].Dir)))
			}
		}
	}
	return requested, fmt.Errorf("the cluster has no process %q", launch.Process)
}

// checkLaunch returns nil if the cluster's processes can be started here, and otherwise the reason.
func (l *launcher) checkLaunch(launch *host.Launch) error {
	st, built, err := l.buildLaunch(launch)
	if err != nil {
		return err
	}
	first := built.Processes[0] // all members run the same programs as the first
	for _, p := range append(slices.Clone(first.Backends), first) {
		if err := l.checkProgram(st, launch, p.Path); err != nil {
			return err
		}
		if _, err := exec.LookPath(p.Path); err != nil {
			return fmt.Errorf("cannot start a member of %s: %w", launch.Store, err)
		}
	}
	return nil
}

// buildLaunch returns the store and its launch, which the store's package builds from the
// description in the request.
func (l *launcher) buildLaunch(launch *host.Launch) (st store.Store, built store.Launch, err error) {
	if err := checkPlaces(launch); err != nil {
		return nil, built, err
	}
	if launch.Exec != "" && !slices.Contains(l.execs, launch.Exec) {
		return nil, built, fmt.Errorf("the server %q was specified by its path, but an agent starts only servers that are installed on its machine or permitted with --exec; specify a version instead, or start the agent with --exec and this path", launch.Exec)
	}
	if st, err = l.stores(launch.Store); err != nil {
		return nil, built, err
	}
	spec := store.LaunchSpec{Cluster: launch.Cluster, Members: launch.Members, Self: l.self, JoiningMember: launch.Joining, Credentials: launch.Credentials}
	if spec.Settings, err = decodeSettings(st, launch.Settings); err != nil {
		return nil, built, err
	}
	if spec.Exec = launch.Exec; launch.Exec == "" {
		spec.Exec, err = install.Version(st, launch.Version)
	}
	if err != nil {
		return nil, built, err
	}
	built, err = st.Launch(spec)
	return st, built, err
}

// checkPlaces returns an error if a name, an address, a port or a folder in the launch is not
// permitted. The error is one sentence.
func checkPlaces(launch *host.Launch) error {
	if !safeName.MatchString(launch.Cluster) {
		return fmt.Errorf("the cluster name %q is invalid: names consist of letters, digits, dots, underscores and dashes", launch.Cluster)
	}
	if len(launch.Members) > kv.MaxMembers {
		return fmt.Errorf("a cluster has at most %d members, not %d", kv.MaxMembers, len(launch.Members))
	}
	for _, m := range launch.Members {
		bad := slices.ContainsFunc(m.Ports, func(port int) bool { return port < 1 || port > 65535 })
		if !safeName.MatchString(m.Name) || net.ParseIP(m.Host) == nil || bad || len(m.Ports) > 2*store.PortsPerMember || filepath.Clean(m.Dir) != m.Dir {
			return fmt.Errorf("the member %q at %q is invalid: a member requires an IP address, ports from 1 to 65535, a folder, and a name of letters, digits, dots, underscores and dashes", m.Name, m.Host)
		}
	}
	return nil
}

// decodeSettings decodes the store's settings. It rejects settings that must not come from another
// machine.
func decodeSettings(st store.Store, text json.RawMessage) (any, error) {
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
func (l *launcher) checkProgram(st store.Store, launch *host.Launch, path string) error {
	if path == l.self || path == launch.Exec {
		return nil
	}
	source, err := st.Server(launch.Version)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(source.Tools, func(t store.Tool) bool { return t.NeededToRun && t.Name == path }) {
		return nil
	}
	if installed, ok, err := install.Installed(source); err == nil && ok && folder(installed).contains(path) {
		return nil
	}
	return fmt.Errorf("the program %s is not an installed server of %s", path, st.Name())
}

// checkFiles returns an error if a process has files outside its member's folder.
func checkFiles(p store.Process, member folder) error {
	for _, path := range append(keysOf(p.Files), p.Dir, p.DataDir) {
		if path != "" && !member.contains(path) {
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
