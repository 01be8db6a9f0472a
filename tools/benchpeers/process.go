package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// stopGrace is the time that a process may take to end after it was interrupted.
const stopGrace = 5 * time.Second

// maxStderr is the number of bytes that are kept from the end of a process's standard error.
const maxStderr = 4 << 10

// processResult describes a process that has ended.
type processResult struct {
	stdout []byte
	cpu    time.Duration // user and system time that wait4(2) reports
	// err states why the process failed. Its output may still be usable.
	err error
}

// runProcess runs a process until it ends. If ctx ends first, runProcess interrupts the process,
// and kills it if it does not end within stopGrace.
func runProcess(ctx context.Context, path string, args ...string) processResult {
	// The kernel kills the process when the thread that started the process ends (see attributes).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stdout bytes.Buffer
	stderr := tail{limit: maxStderr}
	cmd := command(ctx, path, args, &stderr)
	cmd.Stdout = &stdout
	err := cmd.Run()
	f := processResult{stdout: stdout.Bytes()}
	if cmd.ProcessState != nil {
		f.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	switch {
	case ctx.Err() != nil:
		f.err = ctx.Err()
	case err != nil:
		f.err = fmt.Errorf("%s failed (%w)%s", filepath.Base(path), err, stderr.quote())
	}
	return f
}

// runProgram runs a program and returns its parsed output. reportsVerdict is true if the program
// reports a verdict in its exit code. The output of such a program is a result even if the exit
// code is not 0.
func runProgram(ctx context.Context, path string, args []string, reportsVerdict bool, parse func(text string) (Figures, error)) (Figures, error) {
	f := runProcess(ctx, path, args...)
	if ctx.Err() != nil || f.err != nil && !reportsVerdict {
		return Figures{}, f.err
	}
	figures, err := parse(string(f.stdout))
	switch {
	case err != nil && f.err != nil:
		return Figures{}, f.err
	case err != nil:
		return Figures{}, err
	}
	return figures.withCPUTime(f.cpu), nil
}

func command(ctx context.Context, path string, args []string, stderr io.Writer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stderr = stderr
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopGrace
	return cmd
}

// tail keeps the last bytes that were written to it.
type tail struct {
	limit int
	b     []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - t.limit; over > 0 {
		t.b = t.b[:copy(t.b, t.b[over:])]
	}
	return len(p), nil
}

// quote returns a colon and the last line, to be appended to an error message.
func (t *tail) quote() string {
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}

// Server is a server process whose first line of output is its endpoint.
type Server struct {
	Endpoint string
	stop     context.CancelFunc
	ended    chan struct{}
}

// StartServer starts a server and waits until the server has printed its endpoint.
func StartServer(ctx context.Context, path string, args ...string) (*Server, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &Server{stop: stop, ended: make(chan struct{})}
	first := make(chan string, 1)
	stderr := tail{limit: maxStderr}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.ended)
		cmd := command(ctx, path, args, &stderr)
		out, err := cmd.StdoutPipe()
		if err != nil || cmd.Start() != nil {
			return
		}
		lines := bufio.NewReader(out)
		if line, err := lines.ReadString('\n'); err == nil {
			first <- strings.TrimSpace(line)
		}
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait() // the exit status matters only if the server printed no endpoint
	}()
	select {
	case line := <-first:
		s.Endpoint = line
		return s, nil
	case <-s.ended:
		stop()
		return nil, fmt.Errorf("%s ended before it printed its endpoint%s", filepath.Base(path), stderr.quote())
	case <-ctx.Done():
		s.Stop()
		return nil, ctx.Err()
	}
}

// Stop asks the server to end and waits until it has ended.
func (s *Server) Stop() {
	s.stop()
	<-s.ended
}

// checkInstalled returns an error if a program is not in the PATH. pkg is the Debian package that
// contains the program.
func checkInstalled(name, pkg string) error {
	_, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not installed; Debian and Ubuntu have it in the package %s", name, pkg)
	}
	return err
}
