//go:build linux

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// While quorumbench prepares a load, it opens only the load's connections, sends requests more
// slowly if the store limits them, and repeats refused requests. Therefore a load that stays within
// the store's limits can run.
func TestPreparationObeysTheStoresLimits(t *testing.T) {
	t.Parallel()
	endpoint := oneServer(t, "consul", func(_, text string) string {
		var config map[string]any
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		config["limits"] = map[string]any{
			"http_max_conns_per_client": 20,
			"request_limits":            map[string]any{"mode": "enforcing", "read_rate": 500, "write_rate": 200},
		}
		limited, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		return string(limited)
	})
	w := newWorld(t)
	w.runsWithin(t, "consul", endpoint)
}

// The preparation also works if a ZooKeeper member closes every connection beyond the member's
// limit.
func TestPreparationObeysZooKeepersConnectionLimit(t *testing.T) {
	t.Parallel()
	endpoint := oneServer(t, "zookeeper", func(path, text string) string {
		if filepath.Base(path) == "zoo.cfg" {
			text = strings.Replace(text, "maxClientCnxns=0", "maxClientCnxns=12", 1)
		}
		return text
	})
	w := newWorld(t)
	w.runsWithin(t, "zookeeper", endpoint)
}

// ZooKeeper operators often allow only a few four-letter words. The report must state which word is
// missing. Reads of nodes that the server itself created must not count as wrong responses.
func TestZooKeeperThatAllowsFewCommands(t *testing.T) {
	t.Parallel()
	endpoint := oneServer(t, "zookeeper", func(path, text string) string {
		if filepath.Base(path) == "zoo.cfg" {
			text = strings.Replace(text, "4lw.commands.whitelist=*", "4lw.commands.whitelist=srvr", 1)
			text = strings.ReplaceAll(text, "metricsProvider", "#metricsProvider")
		}
		return text
	})
	st, err := registry.Lookup("zookeeper")
	if err != nil {
		t.Fatal(err)
	}
	access := store.Access{Endpoints: []string{endpoint}}
	for _, path := range []string{"/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		for _, kind := range []kv.Kind{kv.Get, kv.Exists} {
			op := store.Op{Kind: kind, Consistency: kv.Local, Key: []byte(path)}
			ev, err := load.Dialer(st, access).RunOperation(t.Context(), endpoint, st.Codecs(access), &op)
			if err != nil || ev.Outcome != kv.OK {
				t.Errorf("%v %s: %v, %v: %s", kind, path, err, ev.Outcome, ev.Text)
			}
		}
	}
	w := newWorld(t)
	p := w.run(t, "check", "datascale", "--store", "zookeeper", "--endpoints", endpoint)
	text := p.stdout.String() + p.stderr.String()
	if p.state.ExitCode() == exitDone || strings.Contains(text, `\n`) || strings.Contains(text, "no known metric") || !strings.Contains(text, "add mntr to 4lw.commands.whitelist") {
		t.Errorf("exit code %d:\n%s", p.state.ExitCode(), text)
	}
	w.run(t, "bench", "put", "--store", "zookeeper", "--endpoints", endpoint, "--total", "50").exits(t, exitDone)
}

// runsWithin checks that a load with 4 connections, 100 reads per second and a preload runs without
// errors.
func (w *world) runsWithin(t *testing.T, name, endpoint string) {
	t.Helper()
	w.run(t, "bench", "get", "--store", name, "--endpoints", endpoint, "--conns", "4", "--clients", "4", "--key-space-size", "800",
		"--rate", "100", "--total", "200", "--out", w.path("run")).exits(t, exitDone)
	r, err := record.Open(w.path("run"))
	if err != nil {
		t.Fatal(err)
	}
	if one := &r.Trials[0]; one.Operations != 200 || one.Errors != 0 {
		t.Errorf("the trial has %d operations and %d errors: %v", one.Operations, one.Errors, one.ErrorTexts)
	}
}

// oneServer starts a real server of a store and returns the server's endpoint. The server runs
// until the end of the test. The function `change` may modify the configuration files before the
// server starts.
func oneServer(t *testing.T, name string, change func(path, text string) string) string {
	t.Helper()
	st, err := registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	spec := store.LaunchSpec{Cluster: "one", Exec: server(t, st), Self: os.Getenv(binaryEnv), Members: servers.ReservePlaces(t, 1)}
	if spec.Settings, err = st.DecodeSettings(nil); err != nil {
		t.Fatal(err)
	}
	l, err := st.Launch(spec)
	if err != nil {
		t.Fatal(err)
	}
	p := l.Processes[0]
	for path, contents := range p.Files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		p.Files[path] = []byte(change(path, string(contents)))
	}
	servers.Process(t, p)
	admin, err := st.Admin(store.Access{Endpoints: []string{p.Endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	awaitRole(t, admin, kv.Leader, 1)
	return p.Endpoint
}
