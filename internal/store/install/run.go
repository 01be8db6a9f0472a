package install

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/files"
)

// Limits for the part of a tool's output that an error contains: the last lines.
const (
	maxErrorLines   = 6
	maxErrorLineLen = 300 // maximum length of a line
)

// killDelay is how long to wait for the remaining output of a tool that was killed.
const killDelay = 2 * time.Second

// passedVariables lists the environment variables that build tools receive in addition to the usual
// ones. They contain the locations of registries, caches and certificate authorities. A wrong
// location does no harm, because checksums determine what may be downloaded. The list does
// not contain variables that change the build or the programs that run, such as GOFLAGS, MAVEN_OPTS
// and LD_PRELOAD.
var passedVariables = []string{
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LANG", "LC_ALL", "USER",
	"GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOAUTH", "NETRC",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "M2_HOME", "MAVEN_HOME",
}

// command is one execution of a tool.
type command struct {
	dir, name string
	args, env []string
	onLine    func(string) // called with each line of output
}

// run executes a tool. When ctx ends, it kills the tool and the tool's child processes (on
// Linux). The error contains the last lines that the tool printed.
func run(ctx context.Context, c command) error {
	cmd := exec.CommandContext(ctx, c.name, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append(files.CleanEnviron(passedVariables...), c.env...)
	out := &lineWriter{each: c.onLine}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = killDelay
	killWithChildren(cmd)
	// On Linux, the kernel kills the tool when this thread ends (see killWithChildren).
	runtime.LockOSThread()
	err := cmd.Run()
	runtime.UnlockOSThread()
	out.flush()
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	output := strings.Join(out.last, " | ")
	if output == "" {
		output = "(nothing)"
	}
	what := filepath.Base(c.name)
	if !strings.HasPrefix(c.args[0], "-") {
		what += " " + c.args[0]
	}
	return fmt.Errorf("`%s` failed with %w; its last output: %s", what, err, output)
}

// lineWriter splits its input into lines, calls the function `each` with every line, and keeps the
// last lines.
type lineWriter struct {
	mu   sync.Mutex
	part []byte
	last []string
	each func(string)
}

// Write implements io.Writer.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for {
		line, rest, ok := bytes.Cut(l.part, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.handleLine(string(line))
		l.part = rest
	}
}

func (l *lineWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handleLine(string(l.part))
	l.part = nil
}

func (l *lineWriter) handleLine(line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	l.each(line)
	if len(line) > maxErrorLineLen {
		line = strings.ToValidUTF8(line[:maxErrorLineLen], "") + "..."
	}
	l.last = append(l.last, line)
	if len(l.last) > maxErrorLines {
		l.last = l.last[1:]
	}
}
