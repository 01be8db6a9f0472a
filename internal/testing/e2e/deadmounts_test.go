//go:build linux

package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// onBadDisks is a load on a member whose data is on a disk that a disk fault mounts.
const onBadDisks = `
name: killed
defaults: {store: etcd, members: 1, connections: 4, rate: 100, key-space: 200, warmup: 200ms, operation: put, duration: 10m}
trials:
  - {name: first, faults: [slow-disk all by 5m at 100ms for 9m]}
`

// TestDeadMountsAreRemovedByTheNextStart kills all processes of a run at once, so that the disks of
// its fault stay mounted. The next command, or the next start of the agent, unmounts the disks,
// removes the data, and reports both.
func TestDeadMountsAreRemovedByTheNextStart(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("disks that fail on request need /dev/fuse, and root or fusermount3")
	}
	mounted := func(w *world) bool {
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(mounts, []byte(w.dir))
	}
	killAll := func(t *testing.T, w *world) {
		// SIGSTOP comes first, so that no process reacts to the end of another process.
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for _, p := range w.processes() {
				_ = syscall.Kill(p.pid, signal) // fails if the process has ended
			}
		}
		eventually(t, patience, "the processes ended", func() bool { return len(w.processes()) == 0 })
		if !mounted(w) {
			t.Fatal("no disk is mounted after the processes were killed")
		}
	}
	said := func(t *testing.T, w *world, p *startedProgram, dir string) {
		if said := p.stderr.String(); strings.Count(said, ", which a killed command left, and unmounted 1 disk in it\n") != 1 {
			t.Errorf("the output is %q", said)
		}
		if mounted(w) {
			t.Error("a dead disk is still mounted")
		}
		if dataLeft(w.path(dir)) {
			t.Error("the members' data was not removed")
		}
	}

	t.Run("run", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		first := w.start(t, "run", w.file(t, "killed.yaml", onBadDisks), "--out", w.path("run"))
		first.measuring(t, w.path("run"), "trial-01-first")
		killAll(t, w)
		<-first.ended
		said(t, w, w.run(t, "bench", "put", "--endpoints", w.nullServer(t), "--total", "10").exits(t, exitDone), "run")
	})

	t.Run("agent", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		agent := func(socket string) *startedProgram {
			p := w.start(t, "agent", "--listen", "unix:"+w.path(socket), "--dir", w.path("agent"), "--heartbeat", "10s")
			eventually(t, patience, "the agent listens", func() bool { return strings.Contains(p.stdout.String(), socket) })
			return p
		}
		there := agent("first.sock")
		scenario := "hosts: [{name: host1, address: 'unix:" + w.path("first.sock") + "', via: agent}]" +
			strings.Replace(onBadDisks, "{store: etcd,", "{store: etcd, members-on: [host1], workers-on: [host1],", 1)
		first := w.start(t, "run", w.file(t, "killed.yaml", scenario), "--out", w.path("run"))
		first.measuring(t, w.path("run"), "trial-01-first")
		killAll(t, w)
		<-first.ended
		<-there.ended
		again := agent("again.sock")
		said(t, w, again, "agent")
		again.signal(t, syscall.SIGTERM)
		again.exits(t, exitDone)
		if logs, err := filepath.Glob(w.path("agent", "quorumbench-session-*")); err != nil || len(logs) != 1 {
			t.Errorf("the session's log folders are %q, %v", logs, err)
		}
	})
}
