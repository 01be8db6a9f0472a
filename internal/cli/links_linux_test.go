package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// watched is a folder outside a run directory. Its watcher reports every file that is opened or
// changed in the folder.
type watched struct {
	dir string
	fd  int
}

func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{dir: t.TempDir()}
	var err error
	if w.fd, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC); err != nil {
		t.Skipf("this system cannot report which files are opened: %v", err)
	}
	t.Cleanup(func() { _ = unix.Close(w.fd) })
	return w
}

// replace replaces a file or folder in a run directory with a pipe, a link to a device, or a link
// into the watched folder. In the last case, it moves the original into the watched folder.
func (w *watched) replace(t *testing.T, kind, path string) {
	t.Helper()
	var err error
	switch kind {
	case "link":
		to := filepath.Join(w.dir, filepath.Base(path))
		err = errors.Join(os.Rename(path, to), os.Symlink(to, path), filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				_, err = unix.InotifyAddWatch(w.fd, path, unix.IN_OPEN|unix.IN_MODIFY|unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVE)
			}
			return err
		}))
		w.touched() // discards the events that the walk itself caused
	case "pipe":
		err = errors.Join(os.RemoveAll(path), syscall.Mkfifo(path, 0o600))
	case "device":
		err = errors.Join(os.RemoveAll(path), os.Symlink("/dev/zero", path))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// touched reports whether anything in the folder was opened or changed since the previous call.
func (w *watched) touched() bool {
	b := make([]byte, 1<<16)
	n, _ := unix.Read(w.fd, b) // the descriptor does not block: if there are no events, Read returns an error
	return n > 0
}

// mainWithin calls Main for a command that must not block, and fails the test if the command
// blocks.
func mainWithin(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	type result struct {
		code   int
		output string
	}
	done := make(chan result, 1)
	go func() {
		var out bytes.Buffer
		code := Main(args, strings.NewReader(""), &out, &out)
		done <- result{code, out.String()}
	}()
	select {
	case r := <-done:
		if strings.Contains(r.output, "goroutine ") {
			t.Errorf("%q panics: %s", args, r.output)
		}
		return r.code, r.output
	case <-time.After(time.Minute):
		t.Fatalf("the command %q did not return within a minute", args)
		return 0, ""
	}
}

// linkRun returns the directory of a run that has two trials, a history and a member's log.
func linkRun(t *testing.T, endpoint string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	scenario := written(t, fmt.Sprintf(`
defaults: {store: etcd, endpoints: [%s], connections: 1, clients: 2, key-space: 10, warmup: 0s}
trials:
  - {name: put, operation: put, total: 50, verify: true}
  - {name: get, operation: get, total: 50}
`, endpoint))
	if code, said := mainWithin(t, "run", scenario, "--out", dir); code != command.ExitSuccess && code != command.ExitFailed {
		t.Fatalf("exit code %d: %s", code, said)
	}
	log := filepath.Join(dir, "logs", "cluster-1", "m1.log")
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, []byte("a member's line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNoCommandLeavesARunDirectory replaces files and folders in run directories by links, pipes
// and devices. No command may open or change anything outside the run directory, and none may
// block. A command that needs the replaced file fails with a one-sentence error.
func TestNoCommandLeavesARunDirectory(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	endpoint := startNullServer(t)
	dir := linkRun(t, endpoint)
	t.Run("reading", func(t *testing.T) { readLinks(t, dir) })
	t.Run("resuming", func(t *testing.T) { resumeLinks(t, dir) })
	t.Run("writing", func(t *testing.T) { writeLinks(t, dir, endpoint) })
}

// readLinks tests the commands that read run directories.
func readLinks(t *testing.T, dir string) {
	trial := readRaw(t, dir).Trials[0].Folder
	all := []string{"report.html", "report.md", "logs/cluster-1/m1.log"}
	for _, name := range []string{"events.jsonl", "history-01.qbhist", "latency.hlog", "machines.csv", "stores.csv", "timeline.csv"} {
		all = append(all, filepath.Join(trial, name))
	}
	alone := [][]string{{"run.json"}, {trial}, {"logs"}, all}
	each := append(slices.Clone(alone), all[4:5], all[5:6], all[8:])
	for kind, places := range map[string][][]string{"link": each, "pipe": {alone[0], alone[1], all}, "device": {alone[0], all}} {
		for _, entries := range places {
			t.Run(kind+"/"+entries[0], func(t *testing.T) {
				place, outside := writeRun(t, dir, readRaw(t, dir)), watch(t)
				for _, entry := range entries {
					outside.replace(t, kind, filepath.Join(place, entry))
				}
				commands := [][]string{
					{"report", place, "--format", "svg", "--out", filepath.Join(t.TempDir(), "svg")},
					{"report", place, "--format", "dbtester", "--out", filepath.Join(t.TempDir(), "dbtester")},
					// These three commands read a trial's files; the other commands do not need
					// them.
					{"verify", place},
					{"report", place}, {"report", place, "--format", "csv", "--out", filepath.Join(t.TempDir(), "csv")},
					{"compare", place, dir}, {"capacity", "share", place, "--rate", "1"}, {"upload", place, "file://" + t.TempDir()},
					{"run", "--resume", place},
				}
				if filepath.Dir(entries[0]) == trial {
					commands = commands[:3]
				}
				for _, args := range commands {
					code, said := mainWithin(t, args...)
					if outside.touched() {
						t.Errorf("the command %q opened or changed a file outside the run directory", args)
					}
					if last := lastLine(said); entries[0] == "run.json" && (code == command.ExitSuccess || !strings.Contains(last, "run.json")) {
						t.Errorf("%q: exit code %d, %q", args, code, last)
					}
				}
			})
		}
	}
}

// resumeLinks checks that a run is either resumed or refused if a file in its directory was
// replaced.
func resumeLinks(t *testing.T, dir string) {
	cut := readRaw(t, dir) // looks like a run that was interrupted in the second trial
	cut.State, cut.Finished, cut.Trials = record.Interrupted, nil, cut.Trials[:1]
	timeline := filepath.Join(cut.Trials[0].Folder, "timeline.csv")
	for _, test := range []struct{ kind, entry, refused string }{
		{"pipe", "report.html", ""}, {"pipe", "run.json.tmp", ""}, {"link", "run.json.tmp", "run.json.tmp is a symbolic link"},
		{"link", "logs/cluster-1", ""}, {"link", timeline, ""}, {"pipe", timeline, ""},
	} {
		t.Run(test.entry+"/"+test.kind, func(t *testing.T) {
			place, outside := writeRun(t, dir, cut), watch(t)
			path := filepath.Join(place, test.entry)
			if _, err := os.Lstat(path); err != nil {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			outside.replace(t, test.kind, path)
			code, said := mainWithin(t, "run", "--resume", place)
			if test.refused != "" {
				if code != command.ExitUsage || !strings.Contains(lastLine(said), test.refused) {
					t.Errorf("exit code %d: %s", code, said)
				}
			} else if run := readRaw(t, place); run.State != record.Complete || len(run.Trials) != 2 {
				t.Errorf("exit code %d, and the run is %s with %d trials: %s", code, run.State, len(run.Trials), said)
			}
			if outside.touched() {
				t.Error("the command opened or changed a file outside the run directory")
			}
		})
	}
}

// writeLinks checks that commands which write into a folder follow no link in that folder.
func writeLinks(t *testing.T, dir, endpoint string) {
	name, trial := filepath.Base(dir), readRaw(t, dir).Trials[0].Folder
	// These are entries that an earlier upload of a run created.
	for _, entry := range []string{"", "run.json", trial, "logs/cluster-1"} {
		for _, kind := range []string{"link", "pipe", "device"} {
			to, outside := t.TempDir(), watch(t)
			if err := os.CopyFS(filepath.Join(to, name), os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(to, name, entry)
			outside.replace(t, kind, path)
			code, said := mainWithin(t, "upload", dir, "file://"+to)
			if last := lastLine(said); code != command.ExitFailed || !strings.Contains(last, path) || !strings.Contains(last, "remove it, or choose another folder") {
				t.Errorf("%s at %q: exit code %d, %q", kind, entry, code, last)
			}
			if outside.touched() {
				t.Errorf("%s at %q: the command opened or changed a file outside its folder", kind, entry)
			}
		}
	}
	for _, args := range [][]string{
		{"bench", "put", "--endpoints", endpoint, "--total", "1"}, {"run", written(t, fmt.Sprintf("trials: [{name: a, store: etcd, endpoints: [%s], operation: put, total: 1}]", endpoint))},
		{"capacity", "--endpoints", endpoint, "--objective", "p99<20ms"}, {"report", dir, "--format", "csv"}, {"traffic", "record", "--listen", "127.0.0.1:0", "--to", endpoint},
	} {
		out, outside := filepath.Join(t.TempDir(), "out"), watch(t)
		if err := os.Mkdir(out, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside.dir, "made"), filepath.Join(out, "run.json")); err != nil {
			t.Fatal(err)
		}
		// The folder contains a dangling link. The command must write neither into the folder nor
		// to the target of the link.
		for _, given := range []string{out, filepath.Join(out, "run.json")} {
			if code, said := mainWithin(t, append(args, "--out", given)...); code == command.ExitSuccess || !strings.Contains(lastLine(said), given) {
				t.Errorf("the command %q with the output folder %s: exit code %d, %q", args, given, code, said)
			}
		}
		if made, err := os.ReadDir(outside.dir); err != nil || len(made) > 0 {
			t.Errorf("the command %q created %v in the target of the link, %v", args, made, err)
		}
	}
	// If a recording is replaced by a pipe or a device, the command neither blocks nor reads
	// forever.
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{pipe, "/dev/zero"} {
		for _, args := range [][]string{{"traffic", "profile", file}, {"traffic", "replay", file, "--endpoints", endpoint}} {
			if code, said := mainWithin(t, args...); code == command.ExitSuccess || !strings.Contains(lastLine(said), file+": it is a ") {
				t.Errorf("%q: exit code %d, %q", args, code, said)
			}
		}
	}
}

func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return lines[len(lines)-1]
}
