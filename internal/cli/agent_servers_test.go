package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store/zetcd"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// quorumbench looks for a server binary on the machine that will run it, so the controller's
// machine needs no server. If an agent's machine lacks the server, the run fails before anything is
// recorded, and the error names the agent.
func TestServersAreInstalledWhereMembersAre(t *testing.T) {
	servers.InstalledServer(t, zetcd.New())
	conduct := func(m *machine, dir string, env ...string) (string, error) {
		c := exec.Command("quorumbench", "run", "-", "--out", dir, "--format", "json", "--agent-certs", filepath.Dir(m.target.CACert))
		c.Env = append(os.Environ(), env...)
		c.Stdin = strings.NewReader(fmt.Sprintf(`
name: servers
hosts: [{name: there, address: '%s', via: agent}, {name: gen, address: 127.0.0.62}]
trials:
- {name: put, store: zetcd, members: 1, members-on: [there], workers-on: [gen], operation: put, clients: 2, connections: 1, total: 50, warmup: 0s, key-space: 10}
`, m.target.Address))
		var stderr strings.Builder
		c.Stderr = &stderr
		err := c.Run()
		return stderr.String(), err
	}
	nowhere := "XDG_CACHE_HOME=" + t.TempDir()
	dir := filepath.Join(t.TempDir(), "run")
	if said, err := conduct(startMachines(t, []string{"127.0.0.60"}, "--heartbeat", "10s")[0], dir, nowhere); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if run, err := record.Open(dir); err != nil || run.State != record.Complete || run.Trials[0].Operations != 50 {
		t.Errorf("%+v, %v", run, err)
	}
	name, value, _ := strings.Cut(nowhere, "=")
	before := os.Getenv(name)
	t.Setenv(name, value)
	bare := startMachines(t, []string{"127.0.0.61"}, "--heartbeat", "10s")[0]
	t.Setenv(name, before)
	dir = filepath.Join(t.TempDir(), "run")
	said, err := conduct(bare, dir)
	if want := "quorumbench: agent there: zetcd's server is not installed: run quorumbench stores install zetcd\n"; err == nil || !strings.HasSuffix(said, want) {
		t.Errorf("%v, %q does not end with %q", err, said, want)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a run directory was created: %v", err)
	}
}
