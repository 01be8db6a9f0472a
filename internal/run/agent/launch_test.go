package agent

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

const (
	ownBinary = "/opt/quorumbench"
	ownMark   = "QUORUMBENCH_MARK=x"
)

// launchCommand returns a controller's command for a store's member. It also returns the agent's
// launcher and the claimed folders.
func launchCommand(t testing.TB, name string, inside folder) (host.Command, *launcher, map[string]string) {
	t.Helper()
	data := filepath.Join(string(inside), "quorumbench-data-1")
	place := kv.MemberPlace{Name: "m1", Host: "127.0.0.1", Ports: []int{1, 2, 3, 4}, Dir: filepath.Join(data, "m1")}
	c := host.Command{
		Path: "/bin/sh", Args: []string{"-c", "reboot"}, Env: []string{ownMark}, Dir: "/", LogFile: filepath.Join(string(inside), "logs", "m1.log"),
		Launch: &host.Launch{Store: name, Process: "m1", Cluster: "run-1", Members: []kv.MemberPlace{place}},
	}
	return c, &launcher{stores: registry.Lookup, self: ownBinary, folder: inside}, map[string]string{data: ownMark}
}

// The agent starts the command that the store's package builds, not the command in the request.
func TestAgentBuildsTheCommand(t *testing.T) {
	c, l, marks := launchCommand(t, "etcd", real(t))
	c.Launch.Settings = json.RawMessage(`{"snapshot-count": 5}`)
	got, files, err := l.command(c, marks)
	if err != nil {
		t.Fatal(err)
	}
	if got.Path != ownBinary || slices.Contains(got.Args, "reboot") || got.Args[0] != "member" || !slices.Equal(got.Env, []string{ownMark}) ||
		got.Dir != c.Launch.Members[0].Dir || got.LogFile != c.LogFile || got.Lifeline == "" || got.Detach || len(files) != 1 {
		t.Errorf("%+v with %q", got, files)
	}
	for path, contents := range files {
		if !strings.HasPrefix(path, got.Dir+"/") || !strings.Contains(string(contents), `"snapshot-count": 5`) {
			t.Errorf("%s: %s", path, contents)
		}
	}
}

// Each store's processes can be started where its server is installed. Elsewhere the error asks the
// user to install the server.
func TestLaunchesEveryStore(t *testing.T) {
	for _, st := range registry.All() {
		c, l, marks := launchCommand(t, st.Name(), real(t))
		got, _, err := l.command(c, marks)
		source, wrong := st.Server("")
		if wrong != nil {
			t.Fatal(wrong)
		}
		_, installed, _ := install.Installed(source)
		switch {
		case source.Kind == store.BuiltIn || installed:
			if err != nil || got.Dir != c.Launch.Members[0].Dir {
				t.Errorf("%s: %+v, %v", st.Name(), got, err)
			}
		case err == nil || strings.Contains(err.Error(), "\n"):
			t.Errorf("%s is not installed, but its launch returned %+v, %v", st.Name(), got, err)
		}
	}
}

// A binary that --exec permits can be requested by its path, but only as the store's server.
func TestLaunchesABinaryOfExec(t *testing.T) {
	c, l, marks := launchCommand(t, "cetcd", real(t))
	c.Launch.Exec, l.execs = "/opt/cetcd", []string{"/opt/other", "/opt/cetcd"}
	got, _, err := l.command(c, marks)
	if err != nil || got.Path != "/opt/cetcd" || slices.Contains(got.Args, "reboot") {
		t.Errorf("%+v, %v", got, err)
	}
	c.Launch.Process = "m1-etcd"
	if got, _, err := l.command(c, marks); err != nil || got.Path != ownBinary {
		t.Errorf("the command for the proxy's etcd is %+v, %v", got, err)
	}
	c.Launch.Exec = "/opt/../bin/sh"
	if got, _, err := l.command(c, marks); err == nil || !strings.Contains(err.Error(), "start the agent with --exec") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRefusesOtherLaunches(t *testing.T) {
	inside := real(t)
	for want, change := range map[string]func(c *host.Command){
		"an agent starts no other":         func(c *host.Command) { c.Launch = nil },
		"starts no other commands":         func(c *host.Command) { c.Detach = true },
		"there is no store":                func(c *host.Command) { c.Launch.Store = "sh" },
		"cannot install version":           func(c *host.Command) { c.Launch.Store, c.Launch.Version = "zookeeper", "../../bin" },
		"is built into quorumbench":        func(c *host.Command) { c.Launch.Version = "1.0" },
		"specified by its path":            func(c *host.Command) { c.Launch.Exec = "/bin/sh" },
		`the cluster name "a/b"`:           func(c *host.Command) { c.Launch.Cluster = "a/b" },
		`process name "../m1" is`:          func(c *host.Command) { c.Launch.Process = "../m1" },
		"has no process":                   func(c *host.Command) { c.Launch.Process = "m9" },
		`the member ".."`:                  func(c *host.Command) { c.Launch.Members[0].Name = ".." },
		`at "evil host"`:                   func(c *host.Command) { c.Launch.Members[0].Host = "evil host" },
		"ports from 1 to":                  func(c *host.Command) { c.Launch.Members[0].Ports[2] = 1 << 20 },
		"but needs 4":                      func(c *host.Command) { c.Launch.Members[0].Ports = []int{1} },
		"at least one member":              func(c *host.Command) { c.Launch.Members = nil },
		"at most 99 members":               func(c *host.Command) { c.Launch.Members = make([]kv.MemberPlace, 500) },
		"not in a data folder":             func(c *host.Command) { c.Launch.Members[0].Dir = "/etc/m1" },
		"not in a data folder of this":     func(c *host.Command) { c.Launch.Members[0].Dir = string(inside) + "/elsewhere/m1" },
		"a folder, and a name":             func(c *host.Command) { c.Launch.Members[0].Dir += "/../../../x" },
		"is outside the agent's folder":    func(c *host.Command) { c.LogFile = "/etc/cron.d/x" },
		"on another machine; remove":       func(c *host.Command) { c.Env = append(c.Env, "LD_PRELOAD=/tmp/x.so") },
		`"QUORUMBENCH_MARK" cannot`:        func(c *host.Command) { c.Env = []string{"QUORUMBENCH_MARK=y"} },
		"cannot read the settings of etcd": func(c *host.Command) { c.Launch.Settings = json.RawMessage(`{"data-dir": "/"}`) },
		"cannot read the settings":         func(c *host.Command) { c.Launch.Settings = json.RawMessage(`[`) },
		"must not be negative":             func(c *host.Command) { c.Launch.Settings = json.RawMessage(`{"quota-backend-bytes": -1}`) },
		"is the path of a program": func(c *host.Command) {
			c.Launch.Store, c.Launch.Settings = "zookeeper", json.RawMessage(`{"java": "/bin/sh"}`)
		},
		"could name a file or a program": func(c *host.Command) {
			c.Launch.Store, c.Launch.Settings = "zookeeper", json.RawMessage(`{"jvm-options": ["-XX:OnError=reboot"]}`)
		},
	} {
		c, l, marks := launchCommand(t, "etcd", inside)
		change(&c)
		got, _, err := l.command(c, marks)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want a one-line error with %q, got %+v, %v", want, got, err)
		}
	}
}

// Whatever is requested, the started program is our binary or an installed server, and its files
// are in the folder.
func FuzzLaunch(f *testing.F) {
	inside := folder("/tmp")
	for _, name := range []string{"etcd", "zookeeper", "cetcd"} {
		c, _, _ := launchCommand(f, name, inside)
		b, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"Launch":{"Store":"etcd","Settings":{"log-level":"debug"},"Members":[{}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c host.Command
		if json.Unmarshal(b, &c) != nil {
			return
		}
		_, l, marks := launchCommand(t, "etcd", inside)
		got, files, err := l.command(c, marks)
		if err != nil {
			return
		}
		servers, _ := install.UserCache()
		if got.Path != ownBinary && got.Path != "java" && !folder(servers.Dir).contains(got.Path) || !slices.Contains(got.Env, ownMark) {
			t.Errorf("%+v", got)
		}
		for _, path := range append(keysOf(files), got.Dir, got.LogFile) {
			if inside.check(path) != nil {
				t.Errorf("the path %s is outside the agent's folder", path)
			}
		}
	})
}
