package kubernetes

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// receiver starts the script receiveProgram in a shell of this machine. The script stores the
// program in the folder dir.
func receiver(t *testing.T, shell []string, dir, machines string, size int) (c *exec.Cmd, input io.WriteCloser, output *bytes.Buffer) {
	t.Helper()
	script := strings.ReplaceAll(receiveProgram, "/tmp/", dir+"/")
	c = exec.Command(shell[0], append(shell[1:], "-c", script, "sh", strconv.Itoa(size), machines, "a", "b c")...) // #nosec G204 -- a test
	output = new(bytes.Buffer)
	c.Stdout, c.Stderr = output, output
	input, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, input, output
}

// The script executes a complete program for this machine, and no other program. A signal ends the
// script while the script waits for the program.
func TestReceiveProgram(t *testing.T) {
	const program = "#!/bin/sh\necho \"runs with $# arguments: $2\"\n"
	ours := host.ProcessorNames(runtime.GOARCH)[0]
	shells := [][]string{{"sh"}}
	if path, err := exec.LookPath("busybox"); err == nil {
		shells = append(shells, []string{path, "sh"})
	}
	for _, shell := range shells {
		for _, test := range []struct {
			machines string
			size     int
			wantCode int
			want     string
		}{
			{ours, len(program), 0, copiedLine + "\nruns with 2 arguments: b c\n"},
			{"other " + ours, len(program), 0, copiedLine + "\nruns with 2 arguments: b c\n"},
			{"other", len(program), 126, copiedLine + "\n"},
			{ours, len(program) + 1, 1, ""},
		} {
			c, input, output := receiver(t, shell, t.TempDir(), test.machines, test.size)
			_, err := io.WriteString(input, program)
			if err := errors.Join(err, input.Close()); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait() // the exit code is checked
			if code := c.ProcessState.ExitCode(); code != test.wantCode || output.String() != test.want {
				t.Errorf("%v, %+v: exit code %d, %q", shell, test, code, output)
			}
		}
		dir := t.TempDir()
		c, input, _ := receiver(t, shell, dir, ours, 100)
		settle.Eventually(t, "the script has created the file and reads the program", func() bool {
			_, err := os.Stat(filepath.Join(dir, "quorumbench"))
			return err == nil
		})
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if state, err := c.Process.Wait(); err != nil || state.ExitCode() != 143 { // c.Wait would also wait for head
			t.Errorf("%v: %v, %v", shell, state, err)
		}
		if err := input.Close(); err != nil { // ends head
			t.Error(err)
		}
	}
}
