package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// exits runs a command and holds it to its exit code: exits CODE COMMAND...
// What it printed is for stdout and stderr to look at.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCode(ts, args[1:]); got != want {
		ts.Fatalf("the exit code is %d, not %d", got, want)
	}
}

// settles is exits for a command that holds a server to times, which a machine
// that stops it for a moment breaks: it is run again, as settle.Within does.
func settles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: settles CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range settle.Attempts - 1 {
		if got := exitCode(ts, args[1:]); got == want {
			return
		}
	}
	exits(ts, neg, args)
}

// exitCode runs a command to its end.
func exitCode(ts *testscript.TestScript, command []string) (code int) {
	var ended *exec.ExitError
	if err := ts.Exec(command[0], command[1:]...); errors.As(err, &ended) {
		return ended.ExitCode()
	} else {
		ts.Check(err)
	}
	return 0
}

// nullServer starts a null server that runs until the script ends, and keeps
// its endpoints in a variable: null-server VARIABLE [FLAG...]
func nullServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: null-server VARIABLE [FLAG...]")
	}
	endpoints, stop, err := startNull(ts.MkAbs("."), args[1:]...)
	ts.Check(err)
	ts.Setenv(args[0], endpoints)
	ts.Defer(func() {
		if err := stop(); err != nil {
			ts.Fatalf("the null server: %v", err)
		}
	})
}

// startNull starts a null server as a process in the given folder and returns
// what it prints when it is ready.
func startNull(dir string, args ...string) (endpoints string, stop func() error, err error) {
	return startServing(dir, "null-server", args...)
}

// startServing starts a command that prints where it serves, and goes on until it is
// interrupted.
func startServing(dir, command string, args ...string) (endpoints string, stop func() error, err error) {
	endpoints, c, err := startProcess(dir, command, args...)
	if err != nil {
		return "", nil, err
	}
	return endpoints, func() error { return interrupt(c) }, nil
}

// startProcess is startServing that returns the process.
func startProcess(dir, command string, args ...string) (endpoints string, c *exec.Cmd, err error) {
	c = exec.Command("quorumbench", append([]string{command}, args...)...)
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("it printed no endpoints: %w", err), interrupt(c))
	}
	return strings.TrimSpace(line), c, nil
}

// interrupt ends a process as a person does, and waits for it.
func interrupt(c *exec.Cmd) error { return errors.Join(c.Process.Signal(os.Interrupt), c.Wait()) }

// spoil makes all files of a folder something else: spoil DIR
func spoil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: spoil DIR")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(entries) == 0 {
		ts.Fatalf("%s has no files", args[0])
	}
	for _, e := range entries {
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), e.Name()), []byte("not \x1b ours"), 0o600))
	}
}

// whileRecorded runs a command while what it says to an endpoint is recorded: recorded FILE
// [STORE@]ENDPOINT COMMAND..., whose argument RELAY becomes where the relay listens.
func whileRecorded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: recorded FILE ENDPOINT COMMAND...")
	}
	name, to, ok := strings.Cut(args[1], "@")
	if !ok {
		name, to = "etcd", args[1]
	}
	relay, stop, err := startServing(ts.MkAbs("."), "traffic", "record", "--store", name, "--listen", "127.0.0.1:0", "--to", to, "--out", args[0])
	ts.Check(err)
	command := slices.Clone(args[2:])
	for i := range command {
		if command[i] == "RELAY" {
			command[i] = relay
		}
	}
	ran := ts.Exec(command[0], command[1:]...)
	ts.Check(errors.Join(ran, stop()))
}

// listener keeps an address in a variable that is no etcd: listener VARIABLE
// KIND, which is http (a web server), mute (takes connections and says nothing)
// or closed (nobody listens).
func listener(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: listener VARIABLE http|mute|closed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], l.Addr().String())
	switch args[1] {
	case "http":
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.NotFoundHandler()}}
		s.Start()
		ts.Defer(s.Close)
	case "mute":
		ts.Defer(func() { _ = l.Close() })
	case "closed":
		ts.Check(l.Close())
	default:
		ts.Fatalf("there is no listener %q", args[1])
	}
}

// expand replaces every $VARIABLE in files: expand FILE...
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE...")
	}
	for _, file := range args {
		text := os.Expand(ts.ReadFile(file), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// checkJSON holds standard output, which must be exactly one JSON object, to
// some of its fields: json FIELD=VALUE... where FIELD may be a.b, and VALUE
// may be * for anything but null.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: json FIELD=VALUE...")
	}
	object, err := oneObject(ts.ReadFile("stdout"))
	ts.Check(err)
	for _, arg := range args {
		field, want, ok := strings.Cut(arg, "=")
		if !ok {
			ts.Fatalf("%q is not FIELD=VALUE", arg)
		}
		got, err := fieldOf(object, field)
		ts.Check(err)
		if want == "*" && got != "null" || got == want {
			continue
		}
		ts.Fatalf("%s is %s, not %s", field, got, want)
	}
}

// oneObject reads a text that is one JSON object and nothing else.
func oneObject(text string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, fmt.Errorf("this is no JSON object: %w", err)
	}
	if err := d.Decode(&object); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON object")
	}
	return object, nil
}

// fieldOf returns a field as JSON, texts without their quotes.
func fieldOf(object map[string]any, path string) (string, error) {
	var at any = object
	for _, name := range strings.Split(path, ".") {
		in, ok := at.(map[string]any)
		if !ok {
			return "", fmt.Errorf("%s is within no object", path)
		}
		if at, ok = in[name]; !ok {
			return "", fmt.Errorf("there is no field %s", path)
		}
	}
	if s, ok := at.(string); ok {
		return s, nil
	}
	b, err := json.Marshal(at)
	return string(b), err
}

func TestOneObject(t *testing.T) {
	for text, ok := range map[string]bool{`{"a":1}` + "\n": true, `{}{}`: false, `{} x`: false, `[]`: false, ``: false} {
		if _, err := oneObject(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
