// Package helper runs a part of the program in a separate process, so that its work does
// not count as the generator's processor time. The process ends whenever ours does, because
// it reads its requests from a pipe that closes with our process.
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

// Process is a helper process. Only one goroutine at a time may use it.
type Process struct {
	what    string
	pid     int
	in      io.WriteCloser
	out     *os.File
	answers *json.Decoder
	ended   chan struct{}
	failed  error // written before ended is closed
}

// Answer is the process's reply to a request, one line of JSON. The process sends a first
// one when it is ready.
type Answer struct {
	Error string `json:"error,omitempty"`
	// Lost is the number of files of which a disk lost data.
	Lost int `json:"lost,omitempty"`
}

// AnswerOf returns an Answer with the error's text.
func AnswerOf(err error) (a Answer) {
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// failure returns the answer's error, or nil if it has none.
func (a *Answer) failure() error {
	if a.Error == "" {
		return nil
	}
	return errors.New(a.Error)
}

// Start runs our binary at self with args, and returns after the process has reported that
// it is ready. The process has the inherited files as descriptors 3 and higher. what names
// the process in errors, such as "the disk at /d".
func Start(ctx context.Context, self, what string, inherited []*os.File, args ...string) (*Process, error) {
	cmd := exec.Command(self, args...)
	cmd.Env = files.CleanEnviron()
	cmd.ExtraFiles = inherited
	cmd.SysProcAttr = newGroup() // a Ctrl-C must not reach it: members end first
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// This pipe is not exec's: Wait would close exec's pipe while answers are still being
	// read.
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

// PID returns the process's number.
func (p *Process) PID() int { return p.pid }

// Ask sends a request as one line of JSON and returns the answer.
func (p *Process) Ask(ctx context.Context, request any) (Answer, error) {
	if err := json.NewEncoder(p.in).Encode(request); err != nil {
		return Answer{}, p.lost(err)
	}
	return p.answer(ctx)
}

// answer reads one answer. If ctx ends first, the process can no longer be used.
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

// lost ends a process that does not answer and returns why it did not.
func (p *Process) lost(err error) error {
	_ = p.in.Close()
	<-p.ended
	if p.failed != nil {
		return p.failed
	}
	return fmt.Errorf("%s does not answer: %w", p.what, err)
}

// Close ends the process and waits for its end. It may be called more than once.
func (p *Process) Close() {
	_ = p.in.Close()
	<-p.ended
	_ = p.out.Close()
}
