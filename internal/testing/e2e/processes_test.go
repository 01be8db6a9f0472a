//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// process is a process on this machine that uses the test's folder.
type process struct {
	pid  int
	args string
}

func (p process) String() string { return fmt.Sprintf("%d %s", p.pid, p.args) }

// processes lists the processes whose command line contains the world's folder, or whose working
// folder is in it. It omits zombies, which have neither.
func (w *world) processes() (found []process) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil || len(line) == 0 {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join(folder, "cwd"))
		args := strings.ReplaceAll(string(bytes.TrimRight(line, "\x00")), "\x00", " ")
		if strings.Contains(args, w.dir) || cwd == w.dir || strings.HasPrefix(cwd, w.dir+"/") {
			found = append(found, process{pid, args})
		}
	}
	return found
}

// members lists the processes of all clusters that keep their data in the world.
func (w *world) members() (found []process) {
	for _, p := range w.processes() {
		if strings.Contains(p.args, " member ") {
			found = append(found, p)
		}
	}
	return found
}

// member returns the process ID of the member with the given name.
func (w *world) member(t *testing.T, name string) int {
	t.Helper()
	for _, p := range w.members() {
		if strings.Contains(p.args, "/"+name+"/") {
			return p.pid
		}
	}
	t.Fatalf("no process of member %s exists; the members' processes are %v", name, w.members())
	return 0
}

// nothingRuns checks that no process of the program remains, and kills those that remain.
func (w *world) nothingRuns(t *testing.T) {
	t.Helper()
	if holdsWithin(t, patience, func() bool { return len(w.processes()) == 0 }) {
		return
	}
	for _, p := range w.processes() {
		t.Errorf("this process is still running: %v", p)
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// stopped reports whether a process is stopped by a signal (proc_pid_stat(5)).
func stopped(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	return len(fields) > 0 && string(fields[0]) == "T"
}

// pause stops a process with SIGSTOP until the test calls resume or ends.
func pause(t *testing.T, pid int) (resume func()) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resume = func() { _ = syscall.Kill(pid, syscall.SIGCONT) } // fails if the process has ended
	t.Cleanup(resume)
	eventually(t, patience, "the process stopped", func() bool { return stopped(pid) })
	return resume
}

// processesOf lists the processes of the named member: their command line contains the member's
// folder, or the folder is their working folder.
func (w *world) processesOf(name string) (found []process) {
	for _, p := range w.processes() {
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.pid))
		if strings.Contains(p.args, "/"+name+"/") || filepath.Base(cwd) == name {
			found = append(found, p)
		}
	}
	return found
}

// aFollower returns the name of a member of the run's cluster that is not leader. Proxies do not
// report roles, so for a proxy any member may be returned.
func (w *world) aFollower(t *testing.T, st store.Store) string {
	t.Helper()
	run, err := record.Open(w.path("run"))
	if err != nil {
		t.Fatal(err)
	}
	members := run.Clusters[0].Members
	access := store.Access{}
	for _, m := range members {
		access.Endpoints = append(access.Endpoints, m.Endpoint)
	}
	admin, err := st.Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	status, err := admin.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range status.Members {
		if m.Err == nil && m.Role != kv.Leader {
			return members[i].Name
		}
	}
	t.Fatalf("no member is a follower: %+v", status)
	return ""
}
