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

	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// exits implements the script command `exits CODE COMMAND...`, which runs a command and checks its
// exit code. Afterwards, the script commands stdout and stderr can check the output.
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

// settles implements the script command `settles CODE COMMAND...`, which is like exits but for a
// command that may fail if the machine stalls briefly. It repeats the command, as
// settle.RetryMeasurement does.
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

// exitCode runs a command and returns its exit code.
func exitCode(ts *testscript.TestScript, command []string) (code int) {
	var ended *exec.ExitError
	if err := ts.Exec(command[0], command[1:]...); errors.As(err, &ended) {
		return ended.ExitCode()
	} else {
		ts.Check(err)
	}
	return 0
}

// nullServer implements the script command `null-server VARIABLE [FLAG...]`, which starts a null
// server and stores its endpoints in a variable. The server runs until the script ends.
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

// startNull starts a null server as a process in the given folder and returns the endpoints that
// the server prints.
func startNull(dir string, args ...string) (endpoints string, stop func() error, err error) {
	return startServing(dir, "null-server", args...)
}

// startServing starts a command that prints its endpoints and runs until it is interrupted. The
// returned function stop interrupts the command.
func startServing(dir, command string, args ...string) (endpoints string, stop func() error, err error) {
	endpoints, c, err := startProcess(dir, command, args...)
	if err != nil {
		return "", nil, err
	}
	return endpoints, func() error { return interrupt(c) }, nil
}

// startProcess is like startServing, but returns the process instead of a function that stops it.
func startProcess(dir, command string, args ...string) (endpoints string, c *exec.Cmd, err error) {
	c = exec.Command("quorumbench", append([]string{command}, args...)...)
	endpoints, err = startCommand(dir, c)
	return endpoints, c, err
}

// startCommand starts a command in a folder, and returns the first line that it prints.
func startCommand(dir string, c *exec.Cmd) (line string, err error) {
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return "", err
	}
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", errors.Join(fmt.Errorf("the command printed no line: %w", err), interrupt(c))
	}
	return strings.TrimSpace(line), nil
}

// interrupt sends SIGINT to a process and waits for its end.
func interrupt(c *exec.Cmd) error { return errors.Join(c.Process.Signal(os.Interrupt), c.Wait()) }

// spoil implements the script command `spoil DIR`, which overwrites all files of a folder with
// other content.
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

// whileRecorded implements the script command `recorded FILE [STORE@]ENDPOINT COMMAND...`, which
// runs a command while a relay records the traffic to an endpoint. In the command, the argument
// RELAY is replaced with the address of the relay.
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

// listener implements the script command `listener VARIABLE KIND`, which stores an address in a
// variable. KIND is what listens at this address: a web server (http), a server that accepts
// connections but sends nothing (mute), or nothing (closed).
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

// expand implements the script command `expand FILE...`, which replaces every $VARIABLE in files.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE...")
	}
	for _, file := range args {
		text := os.Expand(ts.ReadFile(file), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// recordRuns returns the script command `record-runs FROM TO SLOWER [VERSION]`, which records one
// run for each simulated day, each in a new folder below runs. SLOWER is the share by which all
// times are longer: with 0.5, all times are 1.5 times as long.
func recordRuns(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 3 {
			ts.Fatalf("usage: record-runs FROM TO SLOWER [VERSION]")
		}
		from, err := strconv.Atoi(args[0])
		ts.Check(err)
		to, err := strconv.Atoi(args[1])
		ts.Check(err)
		slower, err := strconv.ParseFloat(args[2], 64)
		ts.Check(err)
		version := ""
		if len(args) > 3 {
			version = args[3]
		}
		ts.Check(os.MkdirAll(ts.MkAbs("runs"), 0o755))
		for day := from; day <= to; day++ {
			runs.Run{Name: fmt.Sprintf("%02d", day), Warmup: 1, Seconds: 3, PerSecond: 600, Seed: uint64(day), Slower: slower, Day: day, Version: version}.Record(t, ts.MkAbs("runs"))
		}
	}
}

// checkJSON implements the script command `json FIELD=VALUE...`, which checks that standard output
// is exactly one JSON object with the given fields. FIELD may be a path such as a.b. The VALUE *
// matches anything except null.
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

// oneObject parses a text that must be exactly one JSON object.
func oneObject(text string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, fmt.Errorf("the text is not a JSON object: %w", err)
	}
	if err := d.Decode(&object); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON object")
	}
	return object, nil
}

// fieldOf returns the value of a field as JSON. It returns a string without its quotes.
func fieldOf(object map[string]any, path string) (string, error) {
	var at any = object
	for _, name := range strings.Split(path, ".") {
		in, ok := at.(map[string]any)
		if !ok {
			return "", fmt.Errorf("the path %s does not lead through objects", path)
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
