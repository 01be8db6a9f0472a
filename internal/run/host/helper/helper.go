// Package helper runs a part of quorumbench in a separate process, so that the part's processor
// time is not included in that of the load generator. The helper process reads requests from a
// pipe. It exits when our process exits, because this closes the pipe.
package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/files"
)

// Process is a helper process. It is not safe for concurrent use.
type Process struct {
	description string
	pid         int
	in          io.WriteCloser
	out         *os.File
	answers     *json.Decoder
	exited      chan struct{}
	exitErr     error // set before exited is closed
}

// Answer is the helper process's reply to a request, encoded as one line of JSON. The helper
// process also sends an Answer when it is ready for requests.
type Answer struct {
	Error string `json:"error,omitempty"`
	// DamagedFiles is the number of files that lost data in a simulated power loss.
	DamagedFiles int `json:"lost,omitempty"`
}

// NewAnswer returns an Answer that contains the text of err, or no text if err is nil.
func NewAnswer(err error) (a Answer) {
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// failure returns the answer's error, or nil if the request succeeded.
func (a *Answer) failure() error {
	if a.Error == "" {
		return nil
	}
	return errors.New(a.Error)
}

// Start runs the quorumbench binary at the path `self` with the arguments `args`. It returns when
// the new process has reported that it is ready. The new process inherits the files in `inherited`
// as file descriptors 3 and higher. The parameter `description` describes the process in errors,
// for example "the disk at /d".
func Start(ctx context.Context, self, description string, inherited []*os.File, args ...string) (*Process, error) {
	cmd := exec.Command(self, args...)
	cmd.Env = files.CleanEnviron()
	cmd.ExtraFiles = inherited
	cmd.SysProcAttr = newGroup() // Ctrl-C must not reach the process, because the members have to exit first
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Do not use a pipe from cmd.StdoutPipe, because cmd.Wait would close it while we are still
	// reading answers.
	out, writeEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = writeEnd
	stderrText := &strings.Builder{}
	cmd.Stderr = stderrText
	err = cmd.Start()
	_ = writeEnd.Close()
	if err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("cannot start %s: %w", description, err)
	}
	p := &Process{description: description, pid: cmd.Process.Pid, in: in, out: out, answers: json.NewDecoder(out), exited: make(chan struct{})}
	go func() {
		if err := cmd.Wait(); err != nil {
			p.exitErr = fmt.Errorf("the process for %s exited: %w: %s", description, err, strings.TrimSpace(stderrText.String()))
		}
		close(p.exited)
	}()
	if _, err := p.answer(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// PID returns the process ID.
func (p *Process) PID() int { return p.pid }

// Ask sends a request as one line of JSON and returns the answer.
func (p *Process) Ask(ctx context.Context, request any) (Answer, error) {
	if err := json.NewEncoder(p.in).Encode(request); err != nil {
		return Answer{}, p.stopUnresponsive(err)
	}
	return p.answer(ctx)
}

// answer reads one answer. If ctx is canceled before the answer arrives, the process cannot be used
// anymore.
func (p *Process) answer(ctx context.Context) (a Answer, err error) {
	stop := context.AfterFunc(ctx, func() { _ = p.out.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := p.answers.Decode(&a); err != nil {
		if ctx.Err() != nil {
			return Answer{}, ctx.Err()
		}
		return Answer{}, p.stopUnresponsive(err)
	}
	return a, a.failure()
}

// stopUnresponsive stops a process that does not answer. It returns the reason why the process did
// not answer.
func (p *Process) stopUnresponsive(err error) error {
	_ = p.in.Close()
	<-p.exited
	if p.exitErr != nil {
		return p.exitErr
	}
	return fmt.Errorf("the process for %s does not respond: %w", p.description, err)
}

// Close stops the process and waits until it has exited. Close may be called more than once.
func (p *Process) Close() {
	_ = p.in.Close()
	<-p.exited
	_ = p.out.Close()
}
