package disk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// hold is the argument with which the test binary starts a disk and then waits until it is killed.
const hold = "hold"

// TestMain permits the test binary to run as a disk server, or to start a disk and wait.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == Command:
		if err := Serve(os.Args[2], os.Args[3], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) == 3 && os.Args[1] == hold:
		if _, err := Start(context.Background(), os.Args[0], os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("there")
		select {}
	default:
		os.Exit(m.Run())
	}
}

// place returns an empty folder for a disk.
func place(t *testing.T) string {
	t.Helper()
	mounted(t) // this skips the test if no disk can be mounted
	at := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(at, 0o700))
	return at
}

// isMounted reports whether a file system is mounted at the folder.
func isMounted(t *testing.T, at string) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mounts")
	must(t, err)
	return strings.Contains(string(b), " "+at+" ")
}

// A disk that another process serves executes requests. After Close, the disk's files remain but
// the disk is not mounted.
func TestDiskOfAnotherProcess(t *testing.T) {
	at := place(t)
	d, err := Start(t.Context(), os.Args[0], at)
	must(t, err)
	f, err := os.Create(filepath.Join(at, "f"))
	must(t, err)
	_, err = f.WriteString("synced")
	must(t, err)
	must(t, f.Sync())
	must(t, d.Set(t.Context(), Faults{Failing: true}))
	if _, err := f.WriteString("more"); !errors.Is(err, unix.EIO) {
		t.Errorf("a write to a failing disk returned: %v", err)
	}
	must(t, d.Set(t.Context(), Faults{}))
	_, err = f.WriteString(" and not")
	must(t, err)
	must(t, f.Close())
	if lost, err := d.PowerLoss(t.Context()); lost != 1 || err != nil {
		t.Errorf("%d files lost data: %v", lost, err)
	}
	if b, err := os.ReadFile(filepath.Join(at, "f")); string(b) != "synced" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	d.Close()
	d.Close()
	if isMounted(t, at) {
		t.Error("the disk is still mounted")
	}
	if b, err := os.ReadFile(filepath.Join(FilesDir(at), "files", "f")); string(b) != "synced" || err != nil {
		t.Errorf("the file in the backing folder contains %q, %v", b, err)
	}
	if err := d.Set(t.Context(), Faults{}); err == nil {
		t.Error("a closed disk accepts faults")
	}
}

// The disk does not remain mounted if its server or the process that started the server is killed.
func TestKilledProcessesLeaveNoMount(t *testing.T) {
	t.Run("the disk", func(t *testing.T) {
		at := place(t)
		d, err := Start(t.Context(), os.Args[0], at)
		must(t, err)
		must(t, unix.Kill(d.PID(), unix.SIGKILL))
		if err := d.Set(t.Context(), Faults{}); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("a request to a disk whose process was killed returned: %v", err)
		}
		d.Close()
		if isMounted(t, at) {
			t.Error("the disk is still mounted")
		}
	})
	t.Run("the holder", func(t *testing.T) {
		at := place(t)
		holder := exec.Command(os.Args[0], hold, at)
		out, err := holder.StdoutPipe()
		must(t, err)
		must(t, holder.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "there\n" {
			t.Fatalf("%q, %v", line, err)
		}
		busy, err := os.Create(filepath.Join(at, "f")) // simulates a member that is still running
		must(t, err)
		must(t, holder.Process.Kill())
		_ = holder.Wait()
		settle.Eventually(t, "the disk is unmounted", func() bool { return !isMounted(t, at) })
		_ = busy.Close()
	})
}

// If a disk cannot be mounted, Start returns the reason in one sentence.
func TestReportsUnmountableDisk(t *testing.T) {
	at := place(t)
	must(t, os.Remove(at))
	_, err := Start(t.Context(), os.Args[0], at)
	if err == nil || !strings.Contains(err.Error(), "cannot mount a file system for disk faults at "+at) {
		t.Errorf("%v", err)
	}
}
