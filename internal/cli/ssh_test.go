package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// overSSH holds machines that run ssh servers, and the flags with which a run reaches these
// machines.
type overSSH struct {
	servers []*servers.SSHServer
	flags   []string
}

func startSSH(t *testing.T, ips ...string) *overSSH {
	t.Helper()
	o := &overSSH{}
	known := ""
	for _, ip := range ips {
		s := servers.StartSSH(t, ip)
		o.servers = append(o.servers, s)
		s.Authorize(t, o.servers[0].Key)
		b, err := os.ReadFile(s.KnownHosts)
		if err != nil {
			t.Fatal(err)
		}
		known += string(b)
	}
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	o.flags = []string{"--ssh-identity", o.servers[0].Identity, "--ssh-known-hosts", file, "--ssh-config", "none"}
	return o
}

// scenario writes a scenario whose hosts are these machines, called host1, host2 and so on. Each
// host has the given additional keys. It returns the file's path.
func (o *overSSH) scenario(t *testing.T, keys, trial string) (file string) {
	t.Helper()
	text := "name: ssh\nhosts:\n"
	for i, s := range o.servers {
		text += fmt.Sprintf("- {name: host%d, address: '%s', via: ssh%s}\n", i+1, s.Address, keys)
	}
	file = filepath.Join(t.TempDir(), "ssh.yaml")
	if err := os.WriteFile(file, []byte(text+"trials: [{store: etcd, operation: put, clients: 20, connections: 4, warmup: 0s, key-space: 1000, "+trial+"}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// nothingIn returns an error that lists the processes and files left below a folder.
func nothingIn(dir string) error {
	if p := findProcessesIn(dir); len(p) > 0 {
		return fmt.Errorf("%v are left running", p)
	}
	if entries, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(entries) > 0 {
		return fmt.Errorf("%v are left", entries)
	}
	return nil
}

// A run over ssh with members on two machines and the load on a third machine is recorded like a
// local run, and leaves nothing on the machines.
func TestARunOverSSH(t *testing.T) {
	o := startSSH(t, "127.0.0.61", "127.0.0.62", "127.0.0.63")
	dir := filepath.Join(t.TempDir(), "run")
	c := exec.Command("quorumbench", append([]string{"run", o.scenario(t, "", "total: 600, members-on: [host1, host2], workers-on: [host3]"), "--out", dir, "--format", "json"}, o.flags...)...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	trial := &run.Trials[0]
	if run.State != record.Complete || trial.Operations != 600 || trial.Errors != 0 || trial.Verdict.State == verdict.Invalid || len(run.Hosts) != 3 || run.Hosts[2].Via != "ssh" {
		t.Errorf("%+v", run)
	}
	for i, m := range run.Clusters[0].Members {
		if want := []string{"127.0.0.61:", "127.0.0.62:"}[i%2]; !strings.HasPrefix(m.Endpoint, want) {
			t.Errorf("member %s has the endpoint %s", m.Name, m.Endpoint)
		}
	}
	for i, s := range o.servers {
		for _, want := range []string{fmt.Sprintf("the clock of agent host%d was ", i+1), fmt.Sprintf(" MiB) to host host%d\n", i+1)} {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("the text %q is missing in %s", want, &stderr)
			}
		}
		if err := nothingIn(s.Cache); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(s.Cache, "quorumbench")); !os.IsNotExist(err) {
			t.Errorf("the folder of private folders was not removed: %v", err)
		}
	}
}

// A run leaves nothing on the other machine. An interrupted run removes everything before it ends.
// If the controller is killed or the ssh connection is cut, everything is removed when the lease
// expires.
func TestRunOverSSHLeavesNothing(t *testing.T) {
	const endless = "rate: 100, duration: 10m"
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		o := startSSH(t, "127.0.0.64")
		b := start(t, append([]string{"run", o.scenario(t, "", endless), "--runs-dir", t.TempDir()}, o.flags...)...)
		b.await(t, "measuring, ")
		if err := b.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := b.end(); code != 130 {
			t.Errorf("the run ended with exit code %d, want 130", code)
		}
		if err := nothingIn(o.servers[0].Cache); err != nil {
			t.Error(err)
		}
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		o := startSSH(t, "127.0.0.65")
		b := start(t, append([]string{"run", o.scenario(t, "", endless), "--runs-dir", t.TempDir()}, o.flags...)...)
		b.await(t, "measuring, ")
		cache := o.servers[0].Cache
		if len(findProcessesIn(cache)) < 4 {
			t.Errorf("an agent and three members should run below %s, but the processes are %v", cache, findProcessesIn(cache))
		}
		if err := b.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		b.end()
		settle.Eventually(t, "nothing is left", func() bool { return nothingIn(cache) == nil })
	})
	t.Run("killed with a folder", func(t *testing.T) {
		t.Parallel()
		o := startSSH(t, "127.0.0.66")
		dir := filepath.Join(t.TempDir(), "data")
		b := start(t, append([]string{"run", o.scenario(t, ", dir: '"+dir+"'", endless), "--runs-dir", t.TempDir()}, o.flags...)...)
		b.await(t, "measuring, ")
		if info, err := os.Stat(globbed(t, dir, "ssh.*")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the private folder: %v, %v", info, err)
		}
		if info, err := os.Stat(globbed(t, dir, "ssh.*/agent.sock")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket: %v, %v", info, err)
		}
		if err := b.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		b.end()
		settle.Eventually(t, "no process is left, and the binary is removed", func() bool {
			private, _ := filepath.Glob(filepath.Join(dir, "ssh.*"))
			return len(findProcessesIn(dir)) == 0 && len(private) == 0
		})
		globbed(t, dir, "*/*") // the logs remain
	})
	t.Run("all killed at once", func(t *testing.T) {
		t.Parallel()
		o := startSSH(t, "127.0.0.68")
		dir := filepath.Join(t.TempDir(), "data")
		b := start(t, append([]string{"run", o.scenario(t, ", dir: '"+dir+"'", endless), "--runs-dir", t.TempDir()}, o.flags...)...)
		b.await(t, "measuring, ")
		// SIGSTOP comes first, so that no process reacts to the end of another process.
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, e := range entries {
				line, err := os.ReadFile(e)
				pid, err2 := strconv.Atoi(filepath.Base(filepath.Dir(e)))
				// This also matches the shell.
				if err == nil && err2 == nil && bytes.Contains(line, []byte(dir)) {
					_ = syscall.Kill(pid, signal)
				}
			}
			_ = b.Process.Signal(signal)
		}
		b.end()
		settle.Eventually(t, "no process is left", func() bool { return len(findProcessesIn(dir)) == 0 })
		globbed(t, dir, "ssh.*/quorumbench")
		b = start(t, append([]string{"run", o.scenario(t, ", dir: '"+dir+"'", "total: 10"), "--runs-dir", t.TempDir()}, o.flags...)...)
		if code := b.end(); code != 0 {
			t.Errorf("the next run ended with exit code %d", code)
		}
		if private, _ := filepath.Glob(filepath.Join(dir, "ssh.*")); len(private) > 0 || len(glob(dir, "quorumbench-data-*")) > 0 {
			t.Errorf("the private folders %v and the data folders %v are left", private, glob(dir, "quorumbench-data-*"))
		}
	})
	t.Run("cut", func(t *testing.T) {
		t.Parallel()
		o := startSSH(t, "127.0.0.67")
		dir := filepath.Join(t.TempDir(), "run")
		b := start(t, append([]string{"run", o.scenario(t, "", endless+", workers-on: [host1]"), "--out", dir}, o.flags...)...)
		b.await(t, "measuring, ")
		o.servers[0].Kill()
		b.await(t, "agent host1 at "+o.servers[0].Address+" is lost: ")
		if code := b.end(); code == 0 {
			t.Error("the run ended with exit code 0, want a failure")
		}
		settle.Eventually(t, "nothing is left", func() bool { return nothingIn(o.servers[0].Cache) == nil })
		if run, err := record.Open(dir); err != nil || run.Trials[0].Verdict.State != verdict.Invalid {
			t.Errorf("%+v, %v", run, err)
		}
	})
}

// globbed returns the first path below a folder that matches a pattern.
func globbed(t *testing.T, dir, pattern string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(all) == 0 {
		t.Fatalf("there is no %s in %s: %v", pattern, dir, err)
	}
	return all[0]
}

// If a machine cannot be reached, the error states the reason in one sentence.
func TestARunOverSSHThatIsRefused(t *testing.T) {
	t.Parallel()
	o := startSSH(t, "127.0.0.68")
	server := o.servers[0]
	server.RenewHostKey(t)
	c := exec.Command("quorumbench", append([]string{"run", o.scenario(t, "", "total: 10"), "--runs-dir", filepath.Join(t.TempDir(), "runs")}, o.flags...)...)
	out, err := c.CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "quorumbench: host host1: the machine's host key has changed: ") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%s, %v", out, err)
	}
}

// Hosts are checked over ssh, which measures the network between them and leaves nothing.
func TestCheckHostsOverSSH(t *testing.T) {
	settle.LongOnly(t, "TestARunOverSSH")
	o := startSSH(t, "127.0.0.69", "127.0.0.70")
	args := append([]string{"check", "hosts", "--hosts", o.servers[0].Address + "," + o.servers[1].Address, "--duration", "2s", "--wide"}, o.flags...)
	c := exec.Command("quorumbench", args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); c.ProcessState.ExitCode() != command.ExitUndecided {
		t.Fatalf("%v: %s%s", err, &stdout, &stderr)
	}
	for _, want := range []string{"\n  127.0.0.69 → 127.0.0.70    200  ", "\n  recommended: heartbeat-interval=", " ms ± "} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the text %q is missing in %s", want, &stdout)
		}
	}
	for _, s := range o.servers {
		if err := nothingIn(s.Cache); err != nil {
			t.Error(err)
		}
	}
}
