//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The generator and its disturbance run on the last CPU and the server on the first, so that the
// disturbance does not change the server's speed.

func generatorCPU() int { return runtime.NumCPU() - 1 }

const serverCPU = 0

type outputs struct{ stdout, stderr bytes.Buffer }

// Special values for the parameter `nice` of startOn.
const (
	normal   = 0
	realTime = -100
)

// startOn starts a process on a single CPU, with a nice value or a real-time priority.
func startOn(cpu int, cmd *exec.Cmd, nice int) error {
	// A child process inherits the CPU affinity and the priority of the thread that creates it.
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends when the goroutine ends
		var set unix.CPUSet
		set.Set(cpu)
		err := unix.SchedSetaffinity(0, &set)
		if err == nil && nice == realTime {
			err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
		} else if err == nil && nice != normal {
			err = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), nice)
		}
		if err == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// server is a null server that runs as a process.
type server struct {
	endpoint string
	cmd      *exec.Cmd
	cancel   context.CancelFunc
}

func startServer(ctx context.Context, binary, script string) (*server, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, binary, "null-server", "--protocol", "etcd", "--script", script)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = startOn(serverCPU, cmd, 0)
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("the null server does not start: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	s := &server{endpoint: strings.TrimSpace(line), cmd: cmd, cancel: cancel}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the null server ended before it printed its endpoint: %w", err)
	}
	return s, nil
}

func (s *server) stop() {
	s.cancel()
	_ = s.cmd.Wait() // Wait returns an error because a signal ended the server
}
