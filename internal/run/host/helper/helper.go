// Package helper runs a part of the program in a process of its own, so that its work
// does not stand in the generator's processor time. The process ends with ours in
// whatever way, because what it is asked comes in by a pipe that ends with us.
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

// Process is one that was started. One goroutine at a time uses it.
type Process struct {
	what    string
	pid     int
	in      io.WriteCloser
	out     *os.File
	answers *json.Decoder
	ended   chan struct{}
	failed  error // written before ended is closed
}

// Answer is what a process says to anything that it is asked, and first of all when
// it is there, as one line of JSON.
type Answer struct {
	Error string `json:"error,omitempty"`
	// Lost is how many files a disk lost something of.
	Lost int `json:"lost,omitempty"`
}

// AnswerOf is one with that error.
func AnswerOf(err error) (a Answer) {
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// failure is the answer's error.
func (a *Answer) failure() error {
	if a.Error == "" {
		return nil
	}
	return errors.New(a.Error)
}

// Start starts our own binary at self with arguments, and returns once it has answered
// that it is there. Files are its numbers from 3 on. Errors call it what, such as "the
// disk at /d".
func Start(ctx context.Context, self, what string, inherited []*os.File, args ...string) (*Process, error) {
	cmd := exec.Command(self, args...)
	cmd.Env = files.CleanEnviron()
	cmd.ExtraFiles = inherited
	cmd.SysProcAttr = apart() // a Ctrl-C is not meant for it: members end first
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of ours: exec's own would be closed by Wait, which knows nothing of who
	// still reads.
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
		return nil, fmt.Errorf("%s cannot be started: %w", what, err)
	}
	p := &Process{what: what, pid: cmd.Process.Pid, in: in, out: out, answers: json.NewDecoder(out), ended: make(chan struct{})}
	go func() {
		if err := cmd.Wait(); err != nil {
			p.failed = fmt.Errorf("%s ended: %w: %s", what, err, strings.TrimSpace(said.String()))
		}
		close(p.ended)
	}()
	if _, err := p.answer(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// PID is the process's number.
func (p *Process) PID() int { return p.pid }

// Ask asks for something, as one line of JSON, and returns the answer.
func (p *Process) Ask(ctx context.Context, request any) (Answer, error) {
	if err := json.NewEncoder(p.in).Encode(request); err != nil {
		return Answer{}, p.lost(err)
	}
	return p.answer(ctx)
}

// answer reads an answer. When ctx ends before, the process is of no use any more.
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

// lost is the error of a process that does not answer.
func (p *Process) lost(err error) error {
	_ = p.in.Close()
	<-p.ended
	if p.failed != nil {
		return p.failed
	}
	return fmt.Errorf("%s does not answer: %w", p.what, err)
}

// Close ends the process, and returns when it has ended. It may be called again.
func (p *Process) Close() {
	_ = p.in.Close()
	<-p.ended
	_ = p.out.Close()
}
