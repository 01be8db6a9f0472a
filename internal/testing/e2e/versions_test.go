//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// installed makes the servers that are installed on this machine available in the world. It skips
// the test if a server is missing.
func (w *world) installed(t *testing.T, name string, versions ...string) {
	t.Helper()
	st, err := registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		source, err := st.Server(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, err := install.Installed(source); err != nil || !ok {
			t.Skipf("%s %s is not installed (%v): quorumbench stores install %s@%s", name, v, err, name, v)
		}
	}
	cache, err := install.UserCache()
	if err != nil {
		t.Fatal(err)
	}
	own := w.path("cache/quorumbench")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(cache.Dir, filepath.Join(own, "servers")); err != nil {
		t.Fatal(err)
	}
}

const twoVersions = `
defaults:
  store: {name: zookeeper, version: 3.9.5, members: 1, label: new}
  baseline: {version: 3.9.4}
  connections: 2
  clients: 4
  key-space: 50
  warmup: 200ms
  duration: 500ms
trials:
  - {name: put, operation: put}
`

// One run measures two versions of one store with the same load. Each row of the table shows the
// version of the row's trial.
func TestTwoVersionsInOneTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installed(t, "zookeeper", "3.9.4", "3.9.5")
	p := w.run(t, "run", w.file(t, "two.yaml", twoVersions), "--out", w.path("run"))
	run := openRun(t, w.path("run"), record.Complete)
	if len(run.Trials) != 2 || run.Planned != 2 {
		t.Fatalf("the run has %d of %d trials: %s", len(run.Trials), run.Planned, p.stderr.String())
	}
	for i := range run.Trials {
		trial := &run.Trials[i]
		want := [3]string{"3.9.5", "new", ""}
		if trial.Name == "put-baseline" {
			want = [3]string{"3.9.4", "", "put"}
		}
		if got := [3]string{trial.Version, trial.Label, trial.BaselineOf}; got != want || trial.Operations == 0 || trial.Seed != run.Trials[0].Seed {
			t.Errorf("%s: version, label and baseline are %q, want %q; the trial has %d operations", trial.Name, got, want, trial.Operations)
		}
	}
	for _, want := range []string{"zookeeper 3.9.4", "zookeeper 3.9.5 (new)"} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("the table does not contain %s:\n%s", want, p.stdout.String())
		}
	}
}

// The program looks for all servers before it starts the first one.
func TestMissingServerIsReportedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	const file = `
defaults: {operation: put, members: 1, duration: 1s}
order: written
trials:
  - {name: first, store: etcd}
  - {name: second, store: zookeeper, version: 3.9.4}
`
	w := newWorld(t)
	p := w.run(t, "run", w.file(t, "missing.yaml", file), "--out", w.path("run")).exits(t, exitFailed)
	p.oneSentence(t, "zookeeper's server is not installed: run quorumbench stores install zookeeper@3.9.4")
	// The next four cases are a proxy that is in no registry, a server path that does not exist, a
	// file that is not a program, and a missing Java.
	if err := os.MkdirAll(w.path("server", "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.file(t, "server/lib/zookeeper-0.jar", "")
	for second, want := range map[string]string{
		"store: cetcd":                              "cetcd's server cannot be installed, because no registry has it",
		"store: cetcd, exec: " + w.path("c"):        "the server of cetcd (c) does not exist",
		"store: cetcd, exec: " + w.file(t, "d", ""): "cannot start a member of cetcd (d)",
		"store: zookeeper, exec: " + w.path("server") + ", settings: {java: /nowhere/java}": "a member of zookeeper",
	} {
		mixed := strings.Replace(file, "store: zookeeper, version: 3.9.4", second, 1)
		w.run(t, "run", w.file(t, "mixed.yaml", mixed), "--out", w.path("run")).exits(t, exitFailed).oneSentence(t, want)
	}
	const matrix = "trials: [{name: 'put-{store}', operation: put, exec: /opt/cetcd, matrix: {store: [etcd, cetcd]}}]\n"
	w.run(t, "run", w.file(t, "matrix.yaml", matrix), "--out", w.path("run")).exits(t, exitUsage).
		oneSentence(t, "exec is the server of one store, but it applies to several stores (etcd, cetcd)")
	p = w.run(t, "run", "--exec", w.path("nothing"), "--out", w.path("run")).exits(t, exitFailed)
	p.oneSentence(t, "the server of etcd (nothing) does not exist", "no such file")
	if _, err := os.Stat(w.path("run")); err == nil {
		t.Error("the program created a run directory")
	}
}

// The flag --exec selects the server for a scenario that does not specify one.
func TestRunWithAnotherBinary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const file = "defaults: {store: zookeeper, members: 1, connections: 2, clients: 4, key-space: 50, warmup: 200ms, duration: 500ms}\n" +
		"trials: [{name: put, operation: put}]\n"
	w.installed(t, "zookeeper", "3.9.4")
	folder, err := filepath.EvalSymlinks(w.path("cache/quorumbench/servers/zookeeper-3.9.4"))
	if err != nil {
		t.Fatal(err)
	}
	w.run(t, "run", "--exec", folder, w.file(t, "f.yaml", file), "--out", w.path("run"))
	run := openRun(t, w.path("run"), record.Complete)
	if trial := &run.Trials[0]; trial.Version != "3.9.4" || trial.Exec != folder {
		t.Errorf("the trial ran version %s of %s", trial.Version, trial.Exec)
	}
}
