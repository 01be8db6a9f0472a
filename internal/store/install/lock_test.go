//go:build unix

package install

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// holdLock is an environment variable that contains a path. If it is set, this test program
// acquires the lock at that path instead of running tests.
const holdLock = "QUORUMBENCH_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdLock); path != "" {
		if _, err := lock(context.Background(), path, func() {}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("locked")
		_, _ = os.Stdin.Read(make([]byte, 1)) // wait until the parent ends
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Scripts for a fake mvn that creates a jar in the folder $lib. The script `copies` creates the
// jar immediately. The script `blocks` records its process ID and creates the jar when the test
// writes to the pipe.
const (
	copies = `mkdir -p "$lib"; echo jar > "$lib/a-2.0.jar"; echo "[INFO] Downloaded from central: https://repository.test/a/2.0/a-2.0.jar (1 kB at 2 kB/s)"`
	blocks = `echo $$ >> "$HOME/runs"; mkdir -p "$lib"; cat "$HOME/pipe" > "$lib/a-2.0.jar"`
)

// fakeMaven returns a cache and a Maven source. To build the source, a shell script runs instead
// of mvn.
func fakeMaven(t *testing.T, does string) (Cache, store.ServerSource) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	script := "#!/bin/sh\nfor a in \"$@\"; do case $a in -DoutputDirectory=*) lib=${a#*=};; esac; done\n" +
		"test -f pom.xml || exit 7\n" + does + "\n"
	if err := os.WriteFile(filepath.Join(home, "mvn"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", home+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := syscall.Mkfifo(filepath.Join(home, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Cache{Dir: filepath.Join(home, "servers")}, store.ServerSource{
		Store: "jars", Version: "2.0", Versions: []string{"2.0"}, Kind: store.Maven,
		Files: fstest.MapFS{"pom.xml": {Data: []byte("<project/>")}},
		Tools: []store.Tool{{Name: "mvn", MissingMessage: "installing jars needs Maven"}},
		Check: store.ServerCheck{RequiredFiles: []string{"lib/a-2.0.jar"}},
	}
}

func TestConcurrentInstallsBuildOnce(t *testing.T) {
	c, source := fakeMaven(t, blocks)
	type result struct {
		path string
		err  error
	}
	results := make(chan result, 2)
	started := make(chan string, 2)
	for range 2 {
		go func() {
			path, err := c.Ensure(t.Context(), source, func(u Update) {
				if u.Step != "checking" {
					started <- u.Step
				}
			})
			results <- result{path, err}
		}()
	}
	var got []string
	for range 2 {
		select {
		case step := <-started:
			got = append(got, step)
		case r := <-results:
			t.Fatalf("an installation ended before the first one was released: %+v", r)
		case <-time.After(patience):
			t.Fatalf("after %v these steps were reported: %q", patience, got)
		}
	}
	if got[0] > got[1] {
		got[0], got[1] = got[1], got[0]
	}
	if got[0] != "fetching jars" || !strings.HasPrefix(got[1], "waiting for another process") {
		t.Errorf("the reported steps are %q", got)
	}
	release(t)
	for range 2 {
		if r := <-results; r.err != nil || r.path != filepath.Join(c.Dir, "jars-2.0") {
			t.Errorf("%+v", r)
		}
	}
	if runs := runs(t); len(runs) != 1 {
		t.Errorf("the program was built %d times, want once", len(runs))
	}
}

// patience limits how long a test waits, so that no test hangs forever.
const patience = 2 * time.Minute

// release writes to the pipe, so that the fake mvn that waits for the pipe can continue.
func release(t *testing.T) {
	t.Helper()
	var pipe *os.File
	for until := time.Now().Add(patience); ; runtime.Gosched() { // the script may not have opened the pipe for reading yet
		var err error
		if pipe, err = os.OpenFile(filepath.Join(os.Getenv("HOME"), "pipe"), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			break
		}
		if !errors.Is(err, syscall.ENXIO) || time.Now().After(until) {
			t.Fatalf("mvn did not open its pipe for reading: %v", err)
		}
	}
	if _, err := pipe.WriteString("jar\n"); err != nil {
		t.Error(err)
	}
	if err := pipe.Close(); err != nil {
		t.Error(err)
	}
}

// runs returns the process IDs of all runs of the fake mvn.
func runs(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), "runs"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

func TestInterruptLeavesNothing(t *testing.T) {
	c, source := fakeMaven(t, blocks)
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{}, 1)
	go func() {
		<-begun
		pipe, err := os.OpenFile(filepath.Join(os.Getenv("HOME"), "pipe"), os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
		}
		cancel() // cancel while the tool and its child process wait for the pipe
		<-t.Context().Done()
		_ = pipe.Close()
	}()
	_, err := c.Ensure(ctx, source, func(Update) {
		select {
		case begun <- struct{}{}:
		default:
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	checkDirContents(t, c.Dir, ".jars-2.0.lock")
	pid, err := strconv.Atoi(runs(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the tool is still running: %v", err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lock(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestLockOfAnotherProcess checks that a lock is released when the process that holds it is
// killed.
func TestLockOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holdLock+"="+path)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("%q %v", line, err)
	}
	waited := false
	unlock, err := lock(t.Context(), path, func() {
		waited = true
		if err := holder.Process.Kill(); err != nil {
			t.Error(err)
		}
	})
	if err != nil || !waited {
		t.Fatalf("lock waited for the holder: %v, %v", waited, err)
	}
	unlock()
	_ = holder.Wait() // ignore the error: the test killed the process
}

func TestMavenReportsEachJar(t *testing.T) {
	c, source := fakeMaven(t, copies)
	var reported []Update
	if _, err := c.Ensure(t.Context(), source, func(u Update) { reported = append(reported, u) }); err != nil {
		t.Fatal(err)
	}
	if len(reported) != 3 || reported[1].Detail != "1: a-2.0.jar" {
		t.Errorf("the reported steps are %+v", reported)
	}
}

// TestSweep checks that an installation removes the temporary folder of a build that was
// killed.
func TestSweep(t *testing.T) {
	c, source := fakeMaven(t, copies)
	left := filepath.Join(c.Dir, ".jars-2.0.build-123", "out")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	ensure(t, c, source)
	checkDirContents(t, c.Dir, ".jars-2.0.lock", "jars-2.0")
}

func TestToolThatFails(t *testing.T) {
	c, source := fakeMaven(t, `echo "[ERROR] no such thing"; exit 3`)
	_, err := c.Ensure(t.Context(), source, nil)
	want := "jars 2.0 could not be installed: `mvn` failed with exit status 3; its last output: [ERROR] no such thing"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
