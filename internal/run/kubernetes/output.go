package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// The log of a container contains the lines of standard output and of standard error. These marks
// at the beginning of a line distinguish them.
const (
	stdoutMark = "1 "
	stderrMark = "2 "
)

// tagger writes lines with a mark to a writer that several taggers share.
type tagger struct {
	mark string
	line []byte // an incomplete line
	out  *sharedWriter
}

// sharedWriter is a writer for several goroutines.
type sharedWriter struct {
	mu sync.Mutex
	to io.Writer
}

// NewTaggers returns writers for the standard output and the standard error of a program in a pod.
// They write marked lines to the pod's log. The function `flush` writes incomplete lines.
func NewTaggers(log io.Writer) (stdout, stderr io.Writer, flush func()) {
	out := &sharedWriter{to: log}
	one, two := &tagger{mark: stdoutMark, out: out}, &tagger{mark: stderrMark, out: out}
	return one, two, func() { one.flush(); two.flush() }
}

// Write implements io.Writer.
func (t *tagger) Write(p []byte) (int, error) {
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			t.line = append(t.line, rest...)
			break
		}
		t.line = append(t.line, rest[:end]...)
		rest = rest[end+1:]
		if err := t.writeLine(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// writeLine writes the line with its mark. The caller holds the lock.
func (t *tagger) writeLine() error {
	_, err := io.WriteString(t.out.to, t.mark+string(t.line)+"\n")
	t.line = t.line[:0]
	return err
}

func (t *tagger) flush() {
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	if len(t.line) > 0 {
		_ = t.writeLine() // there is no place to report an error
	}
}

// splitter copies each line of a log to one of two writers. The mark of the line selects the
// writer. Lines without a mark, for example from the container runtime, go to stderr.
type splitter struct {
	stdout, stderr io.Writer
	lines          int  // number of lines that were copied
	tagged         bool // whether a line had a mark
}

func (s *splitter) copyLine(line string) error {
	s.lines++
	to := s.stderr
	if rest, ok := strings.CutPrefix(line, stdoutMark); ok {
		line, to, s.tagged = rest, s.stdout, true
	} else if rest, ok := strings.CutPrefix(line, stderrMark); ok {
		line, s.tagged = rest, true
	}
	_, err := io.WriteString(to, line)
	return err
}

// followLog copies the log of a pod's container until the container ends. It omits the lines that
// the splitter has already copied.
func (a *api) followLog(ctx context.Context, pod string, to *splitter) error {
	at := a.path("pods", pod, "log")
	at.RawQuery = "follow=true"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return err
	}
	reply, err := a.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }() // the body was only read
	if reply.StatusCode >= 300 {
		answer, _ := io.ReadAll(io.LimitReader(reply.Body, maxTextBytes)) // the status is sufficient
		return newAPIError(reply, answer)
	}
	lines := bufio.NewReader(reply.Body)
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil // an incomplete line is not copied, because the program in the pod completes its lines
		case err != nil:
			return err
		case n < to.lines:
			continue
		}
		if err := to.copyLine(line); err != nil {
			return err
		}
	}
}
