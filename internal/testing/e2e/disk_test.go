//go:build linux

package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// tinyDisk mounts a file system of the given size below the world's folder.
func (w *world) tinyDisk(t *testing.T, name, size string) string {
	t.Helper()
	dir := w.path(name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		eventually(t, patience, "the file system was unmounted", func() bool {
			err := syscall.Unmount(dir, 0)
			return err == nil || errors.Is(err, syscall.EINVAL)
		})
	})
	return dir
}

// fill uses up a disk's free space, as an unrelated program could.
func fill(t *testing.T, disk string) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for n := 64 << 10; n > 0; {
		if _, err := f.Write(make([]byte, n)); errors.Is(err, syscall.ENOSPC) {
			n /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// If a disk fills up while the record is written, the run ends at once with a one-sentence error.
// Everything recorded before stays readable.
func TestFullDiskWhileRecording(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"attached":    {"bench", "put", "--duration", "10m", "--rate", "2000", "--conns", "4"},
		"own cluster": {"run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			disk, folder := w.tinyDisk(t, "disk", "1m"), "trial-01-put"
			if name == "attached" {
				args = append(args, "--endpoints", w.nullServer(t, "--script", "delay=uniform(100us,20ms)"))
			} else {
				args = append(args, w.file(t, "long.yaml", long), "--data-dir", w.path("data"))
				folder = "trial-02-endless"
			}
			p := w.start(t, append(args, "--out", filepath.Join(disk, "run"))...)
			p.measuring(t, filepath.Join(disk, "run"), folder)
			fill(t, disk)
			p.exits(t, exitFailed)
			if said := p.oneSentence(t, "disk is full", disk); strings.Count(said, "disk is full") != 1 {
				t.Errorf("the error repeats itself: %s", said)
			}
			if out := p.stdout.String(); name == "attached" && !strings.Contains(out, "  throughput  ") {
				t.Errorf("the results are not printed:\n%s", out)
			}
			if left := w.members(); len(left) > 0 || dataLeft(w.dir) {
				t.Errorf("members still running: %v; data left: %v", left, dataLeft(w.dir))
			}
			checkHalf(t, filepath.Join(disk, "run"), folder)
		})
	}
}

// checkHalf checks that a record which could not be written completely is readable and not marked
// as complete.
func checkHalf(t *testing.T, dir, folder string) {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	last := run.Trials[len(run.Trials)-1]
	if run.State == record.Complete || last.State == record.Complete || last.Folder != folder {
		t.Errorf("the run's state is %s; its last trial is in the folder %s with state %s", run.State, last.Folder, last.State)
	}
	files, err := record.OpenTrial(dir, folder)
	if err != nil || len(files.Timeline) == 0 || len(files.Intervals) == 0 {
		t.Errorf("the interrupted trial has %d seconds and %d histograms: %v", len(files.Timeline), len(files.Intervals), err)
	}
}

// If the disk has no space for the members' data, the members do not start, and a one-sentence
// error states the reason.
func TestFullDiskForTheMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	disk := w.tinyDisk(t, "disk", "1m")
	p := w.run(t, "run", w.file(t, "long.yaml", long), "--out", w.path("run"), "--data-dir", disk)
	p.exits(t, exitFailed).oneSentence(t, "no space left on device")
	if run := openRun(t, w.path("run"), record.Failed); run.Failure == "" {
		t.Error("the record does not contain the reason for the failure")
	}
	if dataLeft(disk) {
		t.Error("the members' data is left")
	}
}

// A command that cannot write to a folder fails with a one-sentence error. The user root ignores
// permission bits, so the test uses files in place of folders, and folders in /proc.
func TestUnwritableFolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t)
	file := w.file(t, "file", "in the way")
	attached := w.file(t, "attached.yaml", "name: attached\ntrials: [{store: etcd, operation: put, endpoints: ["+endpoint+"], total: 10, warmup: 0s}]\n")
	cluster := w.file(t, "cluster.yaml", "name: cluster\ntrials: [{store: etcd, operation: put, total: 10}]\n")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"bench", "put", "--endpoints", endpoint, "--total", "10", "--out", filepath.Join(file, "run")}, file},
		{[]string{"bench", "put", "--endpoints", endpoint, "--total", "10", "--out", file}, file},
		{[]string{"bench", "put", "--endpoints", endpoint, "--total", "10", "--out", "/proc/quorumbench"}, "/proc"},
		{[]string{"run", attached, "--out", filepath.Join(file, "run")}, file},
		{[]string{"run", attached, "--runs-dir", file}, file},
		{[]string{"run", attached, "--runs-dir", "/proc/quorumbench"}, "/proc"},
		{[]string{"run", cluster, "--out", w.path("run"), "--data-dir", file}, file},
		{[]string{"cluster", "up", "--dir", file}, file},
		{[]string{"cluster", "up", "--dir", "/proc/quorumbench"}, "/proc"},
	} {
		p := w.run(t, test.args...).exits(t, exitFailed)
		if said := p.oneSentence(t, test.want); strings.Contains(said, "\n") || p.stdout.String() != "" && !strings.Contains(p.stdout.String(), "failed") {
			t.Errorf("%q: stderr is %q and stdout is\n%s", test.args, said, p.stdout.String())
		}
	}
	if got := w.read(t, "file"); got != "in the way" {
		t.Errorf("the content of the existing file is now %q", got)
	}
}

// A second run in the same folder is refused, both while the first runs and after it has ended. The
// first run's record does not change.
func TestTwoRunsInOneFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t)
	dir := w.path("run")
	first := w.start(t, "bench", "put", "--endpoints", endpoint, "--duration", "2s", "--out", dir)
	first.measuring(t, dir, "trial-01-put")
	second := []string{"bench", "put", "--endpoints", endpoint, "--total", "10", "--out", dir}
	w.run(t, second...).exits(t, exitFailed).oneSentence(t, dir)
	first.exits(t, exitDone)
	w.run(t, second...).exits(t, exitFailed).oneSentence(t, dir)
	if run := openRun(t, dir, record.Complete); len(run.Trials) != 1 {
		t.Errorf("the run has %d trials, want 1", len(run.Trials))
	}
	// If two runs begin at the same time, only one of them can use the folder.
	dir = w.path("both")
	codes := map[int]int{}
	var both []*startedProgram
	for range 2 {
		both = append(both, w.start(t, "bench", "put", "--endpoints", endpoint, "--total", "100", "--out", dir))
	}
	for _, p := range both {
		codes[p.end(t).state.ExitCode()]++
	}
	if codes[exitDone] != 1 || codes[exitFailed] != 1 {
		t.Errorf("two runs that started at the same time have the exit codes %v", codes)
	}
	openRun(t, dir, record.Complete)
}
