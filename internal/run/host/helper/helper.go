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
	what    string
	pid     int
	in      io.WriteCloser
	out     *os.File
	answers *json.Decoder
	ended   chan struct{}
	failed  error // set before ended is closed
}

// Answer is the helper process's reply to a request, encoded as one line of JSON. The helper
// process also sends an Answer when it is ready for requests.
type Answer struct {
	Error string `json:"error,omitempty"`
	// Lost is the number of files that lost data in a simulated power loss.
	Lost int `json:"lost,omitempty"`
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
// as file descriptors 3 and higher. The parameter `what` describes the process in errors, for
// example "the disk at /d".
func Start(ctx context.Context, self, what string, inherited []*os.File, args ...string) (*Process, error) {
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
	out, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = to
	said := &strings.Builder{}
	cmd.Stderr = said
	err = cmd.Start()
	_ = to.Close()
	if err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("cannot start %s: %w", what, err)
	}
	p := &Process{what: what, pid: cmd.Process.Pid, in: in, out: out, answers: json.NewDecoder(out), ended: make(chan struct{})}
	go func() {
		if err := cmd.Wait(); err != nil {
			p.failed = fmt.Errorf("the process for %s exited: %w: %s", what, err, strings.TrimSpace(said.String()))
		}
		close(p.ended)
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
		return Answer{}, p.lost(err)
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
		return Answer{}, p.lost(err)
	}
	return a, a.failure()
}

// lost stops a process that does not answer, and returns the reason why it does not.
func (p *Process) lost(err error) error {
	_ = p.in.Close()
	<-p.ended
	if p.failed != nil {
		return p.failed
	}
	return fmt.Errorf("the process for %s does not respond: %w", p.what, err)
}

// Close stops the process and waits until it has exited. Close may be called more than once.
func (p *Process) Close() {
	_ = p.in.Close()
	<-p.ended
	_ = p.out.Close()
}
