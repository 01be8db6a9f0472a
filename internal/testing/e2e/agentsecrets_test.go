//go:build linux

package e2e_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
)

// Credentials are read on the machine that controls the run: a password from a variable and a key
// from a file. The load on an agent receives them. Neither the record nor the agent's files and
// output contain them.
func TestSecretsOverAnAgent(t *testing.T) {
	t.Parallel()
	const password = "open-sesame-7"
	w := newWorld(t)
	ours := w.newAuthority(t, "ca")
	for _, name := range []string{"server", "client"} {
		w.leaf(t, ours, name, time.Now().AddDate(1, 0, 0))
	}
	secured := w.etcd(t, "secured", &transport.TLSInfo{CertFile: w.path("server.crt"), KeyFile: w.path("server.key"), TrustedCAFile: w.path("ca.crt"), ClientCertAuth: true,
		ClientCertFile: w.path("client.crt"), ClientKeyFile: w.path("client.key")})
	locked := w.etcd(t, "locked", nil)
	client := official.Etcd(t, store.Access{Endpoints: []string{locked}})
	_, err := client.UserAdd(t.Context(), "root", password)
	if err == nil {
		_, err = client.UserGrantRole(t.Context(), "root", "root")
	}
	if err == nil {
		_, err = client.AuthEnable(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}

	there := w.start(t, "agent", "--listen", "unix:"+w.path("agent.sock"), "--dir", w.path("agent"), "--heartbeat", "10s")
	eventually(t, patience, "the agent listens", func() bool { return strings.Contains(there.stdout.String(), "agent.sock") })
	w.env = append(w.env, "STORE_PASSWORD="+password) // set only in the controller's environment
	w.file(t, "secrets.yaml", `
name: secrets
hosts: [{name: gen, address: 'unix:`+w.path("agent.sock")+`', via: agent}]
defaults: {store: etcd, operation: put, workers-on: [gen], total: 300, clients: 4, connections: 2, key-space: 50, warmup: 0s}
trials:
- {name: password, endpoints: ['`+locked+`'], user: 'root:env:STORE_PASSWORD'}
- {name: certificate, endpoints: ['`+secured+`'], tls: {cacert: ca.crt, cert: client.crt, key: client.key}}
`)
	run := w.run(t, "run", "secrets.yaml", "--out", w.path("run"))
	run.exits(t, exitDone)
	recorded, err := record.Open(w.path("run"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range recorded.Trials {
		if trial := &recorded.Trials[i]; trial.Operations != 300 || trial.Errors != 0 || trial.Authenticated == trial.TLS {
			t.Errorf("%s: %d operations, %d errors, authenticated %v, TLS %v", trial.Name, trial.Operations, trial.Errors, trial.Authenticated, trial.TLS)
		}
	}
	if err := syscall.Kill(there.pid, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	there.exits(t, exitDone)

	key := strings.Split(w.read(t, "client.key"), "\n")[1] // a line from the middle of the key
	secrets := map[string]string{"the password": password, "the key": key}
	none := func(where, text string) {
		for what, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s contains %s", where, what)
			}
		}
	}
	for name, p := range map[string]*startedProgram{"the agent": there, "the run": run} {
		none(name, p.stdout.String()+p.stderr.String())
	}
	files := 0
	for _, dir := range []string{"run", "agent"} {
		if err := filepath.WalkDir(w.path(dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			files++
			none(path, string(b))
			return err
		}); err != nil {
			t.Error(err)
		}
	}
	if files == 0 {
		t.Error("no file was searched")
	}
}
