//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

// nobody is the ID of a user who owns no files.
const nobody = 65534

// shared creates a folder in the world that every user may write to, like /tmp.
func (w *world) shared(t *testing.T, name string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can act as another user")
	}
	for _, dir := range []string{w.dir, filepath.Dir(w.dir)} { // package testing made these folders private
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	dir := w.path(name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runAsOther runs a shell command as another user.
func runAsOther(t *testing.T, command string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "umask 0; "+command)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// victim starts a process of this user that is unrelated to quorumbench, and returns its
// identity as JSON.
func victim(t *testing.T) (id host.Identity, text string) {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	id, err := host.Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	return id, string(b)
}

// Another user who may write to a shared data folder creates the record of a killed run in that
// folder. The record lists a process that is unrelated to quorumbench. quorumbench must not kill
// this process.
func TestNeighbourCannotHaveAProcessKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shared := w.shared(t, "shared")
	w.file(t, "shared/something", "of another user")
	// This run registers the shared folder as a data folder, so later commands look for killed runs
	// in it.
	w.run(t, "run", "--exec", "/bin/false", "--data-dir", shared, "--out", w.path("first")).exits(t, exitFailed)
	id, text := victim(t)
	evil := filepath.Join(shared, "quorumbench-data-evil")
	here, err := json.Marshal(host.CurrentPlace())
	if err != nil {
		t.Fatal(err)
	}
	runAsOther(t, fmt.Sprintf(`mkdir %[1]s && cat >%[1]s/owner.json <<'END'
{"place":%[3]s,"owner":{"pid":1,"start":"1","boot":""},"mark":"%[4]s","processes":[%[2]s]}
END`, evil, text, here, host.NewMark()))
	endpoint := w.nullServer(t)
	w.run(t, "run", "--dry-run").exits(t, exitDone)
	w.run(t, "bench", "put", "--endpoints", endpoint, "--total", "100").exits(t, exitDone)
	w.run(t, "run", "--exec", "/bin/false", "--data-dir", shared, "--out", w.path("second")).exits(t, exitFailed)
	if !id.Running() {
		t.Error("quorumbench killed a process that another user's file names")
	}
	if _, err := os.Stat(filepath.Join(evil, "owner.json")); err != nil {
		t.Errorf("another user's folder was removed: %v", err)
	}
}

// If the state of a cluster in another user's folder lists an unrelated process, quorumbench must
// not kill this process.
func TestDownInAnotherUsersFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := filepath.Join(w.shared(t, "shared"), "play")
	id, text := victim(t)
	for _, schema := range []int{1, 2} { // schema 2 has data that proves a member's identity, schema 1 does not
		runAsOther(t, fmt.Sprintf(`mkdir -p %[1]s/m1 && cat >%[1]s/quorumbench-cluster.json <<'END'
{"schema":%[3]d,"store":"etcd","mark":"%[4]s","members":[{"name":"m1","endpoint":"127.0.0.1:1","process":%[2]s}]}
END`, dir, text, schema, host.NewMark()))
		w.run(t, "cluster", "down", "--dir", dir).exits(t, exitFailed).oneSentence(t, "cannot be used", "uid 65534")
		w.run(t, "cluster", "status", "--dir", dir).exits(t, exitFailed).oneSentence(t, "cannot be used", "uid 65534")
	}
	if _, err := os.Stat(filepath.Join(dir, "m1")); err != nil || !id.Running() {
		t.Errorf("the process is running: %v; the folder's error: %v", id.Running(), err)
	}
	runAsOther(t, "rm -r "+dir+" && mkdir "+dir)
	w.run(t, "cluster", "up", "--members", "1", "--dir", dir).exits(t, exitFailed).oneSentence(t, "cannot be used", "uid 65534")
}

// quorumbench refuses a runs folder in two cases: another user created the folder, or the path is a
// link that another user created. It then writes nothing to the folder or to the target of the
// link. If the user created the link, quorumbench follows it.
func TestRunsFolderOfAnotherUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shared := w.shared(t, "shared")
	if err := os.Mkdir(w.path("mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	runAsOther(t, fmt.Sprintf("mkdir -m 755 %[1]s/runs && ln -s %[2]s %[1]s/link", shared, w.path("mine")))
	scenario := w.file(t, "brief.yaml", brief)
	for name, leads := range map[string]string{"runs": filepath.Join(shared, "runs"), "link": w.path("mine")} {
		w.run(t, "run", scenario, "--runs-dir", filepath.Join(shared, name)).exits(t, exitFailed).oneSentence(t, "belongs to another user (uid 65534)")
		if left, err := os.ReadDir(leads); err != nil || len(left) > 0 {
			t.Errorf("%s: the folder contains %v, %v", name, left, err)
		}
	}
	if err := os.Symlink(w.path("mine"), w.path("runs")); err != nil {
		t.Fatal(err)
	}
	w.run(t, "run", scenario) // the verdict does not matter
	if made, err := os.ReadDir(w.path("mine")); err != nil || len(made) != 1 {
		t.Errorf("the folder at the user's own link contains %v, %v", made, err)
	}
}

// If `cluster down` cannot see the members' processes, the members may still run. The command then
// reports this and removes nothing. If the folder is a copy, the command does not stop the members
// of the original. If the state file was edited, the command refuses it.
func TestDownOutsideItsMembersNamespaceChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir, _ := w.playground(t, "1")
	member := w.member(t, "m1")
	stays := func(what string) {
		t.Helper()
		if syscall.Kill(member, 0) != nil {
			t.Fatalf("%s: the member was ended", what)
		}
		if _, err := os.Stat(filepath.Join(dir, "m1", "data", "member")); err != nil {
			t.Fatalf("%s: the member's data is gone: %v", what, err)
		}
	}
	run := func(t *testing.T, path string, args ...string) {
		t.Helper()
		if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, out)
		}
	}

	if space, err := exec.LookPath("unshare"); err != nil || exec.Command(space, "--pid", "--fork", "--mount-proc", "true").Run() != nil {
		t.Log("the test cannot create a PID namespace, so it skips this part")
	} else {
		args := []string{"--pid", "--fork", "--mount-proc", os.Getenv(binaryEnv), "cluster"}
		w.startWith(t, space, append(args, "down", "--dir", dir)...).exits(t, exitFailed).oneSentence(t, "another PID namespace")
		if p := w.startWith(t, space, append(args, "status", "--dir", dir)...).end(t); !strings.Contains(p.stdout.String(), "not visible here") {
			t.Errorf("the output of status is\n%s", p.stdout.String())
		}
		stays("from another namespace")
	}

	copied := w.path("copied")
	run(t, "cp", "-a", dir, copied)
	w.run(t, "cluster", "down", "--dir", copied).exits(t, exitFailed).oneSentence(t, "copy")
	stays("on a copy")

	state := w.read(t, "playground/quorumbench-cluster.json")
	for _, name := range []string{"./", "m1/..", "../copied", "foreigndir"} {
		w.file(t, "playground/quorumbench-cluster.json", strings.Replace(state, `"name": "m1"`, fmt.Sprintf(`"name": %q`, name), 1))
		w.run(t, "cluster", "down", "--dir", dir).exits(t, exitFailed).oneSentence(t, "cannot be used", name)
		stays("with the member " + name)
	}
	w.file(t, "playground/quorumbench-cluster.json", state)
	m1 := filepath.Join(dir, "m1")
	if err := os.Rename(m1, m1+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(copied, m1); err != nil {
		t.Fatal(err)
	}
	w.run(t, "cluster", "down", "--dir", dir).exits(t, exitFailed).oneSentence(t, "cannot be used", "m1")
	if err := os.Remove(m1); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(m1+"-away", m1); err != nil {
		t.Fatal(err)
	}
	stays("with a link")
	if _, err := os.Stat(filepath.Join(copied, "m1", "data", "member")); err != nil {
		t.Errorf("the data in the link's target is gone: %v", err)
	}
}

// If `cluster up` is killed just after its first member has started, the member may not be
// registered yet. `cluster down` then finds the member through the member's environment variables.
func TestKilledUpLeavesNoUnknownMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.file(t, "server", "#!/bin/sh\nexec sleep 600 # "+w.dir+"\n")
	if err := os.Chmod(server, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := w.path("play")
	for range 10 {
		p := w.start(t, "cluster", "up", "--members", "3", "--exec", server, "--dir", dir)
		eventually(t, patience, "a member was started", func() bool {
			for _, q := range w.processes() {
				if strings.Contains(q.args, "sleep 600") {
					return true
				}
			}
			return false
		})
		p.signal(t, syscall.SIGKILL)
		<-p.ended
		w.run(t, "cluster", "up", "--dir", dir).exits(t, exitFailed).oneSentence(t, "cluster down")
		w.run(t, "cluster", "down", "--dir", dir).exits(t, exitDone)
		if left := w.processes(); len(left) > 0 {
			t.Fatalf("after `cluster down`, these processes are still running: %v", left)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Fatalf("after `cluster down`, the folder still exists: %v", err)
		}
	}
}

// brief is a run that takes a few seconds.
const brief = `
name: brief
defaults: {store: etcd, members: 1, connections: 1, clients: 4, key-space: 10, warmup: 0s, total: 200, operation: put}
trials: [{name: one}]
`

// quorumbench keeps a data folder that the user created. It removes a data folder that it had to
// create itself.
func TestDataFolderOfTheUserStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scenario := w.file(t, "brief.yaml", brief)
	if err := os.Mkdir(w.path("mydata"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		dir   string
		stays bool
	}{{"mydata", true}, {"new/deep/data", false}, {"mydata/below", false}} {
		out := w.path(fmt.Sprint("run", i))
		w.run(t, "run", scenario, "--data-dir", c.dir, "--out", out) // the verdict does not matter
		if run := opened(t, out); run.State != record.Complete {
			t.Errorf("the run's state is %s", run.State)
		}
		left, err := os.ReadDir(w.path(c.dir))
		if (err == nil) != c.stays || len(left) > 0 {
			t.Errorf("the folder %s contains %v, %v", c.dir, left, err)
		}
	}
	if _, err := os.Stat(w.path("new")); !os.IsNotExist(err) {
		t.Errorf("a folder that the run created still exists: %v", err)
	}
	// The next run must not remove the folder, either.
	w.run(t, "run", scenario, "--out", w.path("again"))
	if _, err := os.Stat(w.path("mydata")); err != nil {
		t.Error(err)
	}
}
