package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/program"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// TestMain adds the program's folder to the PATH, so that scripts and tests can start the program
// as a separate process.
func TestMain(m *testing.M) {
	if to := os.Getenv(copyTo); to != "" {
		fmt.Fprintln(os.Stderr, copyRelay(to))
		os.Exit(1)
	}
	if os.Getenv(controllerEnv) != "" { // the test that started this process has built the program
		os.Exit(m.Run())
	}
	os.Exit(program.Run(m))
}

func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestRecordedScripts runs the scripts that record many simulated runs in this process.
func TestRecordedScripts(t *testing.T) {
	settle.SkipUnderRace(t)
	runScripts(t, "testdata/recorded")
}

// runScripts runs the scripts in a folder.
func runScripts(t *testing.T, dir string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			// Without this option, a process built with -race waits one second before it exits.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		// In CI, the line `[!long] stop` ends a script before the part that only `make test-long`
		// runs.
		Condition: func(name string) (bool, error) {
			if name != "long" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return settle.Long(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":        exits,
			"settles":      settles,
			"null-server":  nullServer,
			"recorded":     whileRecorded,
			"listener":     listener,
			"expand":       expand,
			"record-runs":  recordRuns(t),
			"json":         checkJSON,
			"certificates": certificates,
			"spoil":        spoil,
		},
	})
}

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, command.ExitSuccess},
		{errors.New("x"), command.ExitFailed},
		{command.Usage("x"), command.ExitUsage},
		{fmt.Errorf("more: %w", command.Usage("x")), command.ExitUsage},
		{&command.Exit{Code: command.ExitInterrupted}, command.ExitInterrupted},
	} {
		if got := command.ExitCode(test.err); got != test.want {
			t.Errorf("the exit code of the error %v is %d, want %d", test.err, got, test.want)
		}
	}
}

func TestErrorsAreOneSentencePerLine(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&command.Exit{Code: 1}, ""},
		{errors.Join(errors.New("one"), errors.New("two;\n\tthree")), "quorumbench: one; two; three\n"},
		{&command.Exit{Cause: file.Errors{{File: "f", Line: 1, Column: 2, Text: "a"}, {File: "f", Text: "b"}}},
			"quorumbench: f:1:2: a\nquorumbench: f: b\n"},
	} {
		var b bytes.Buffer
		command.PrintError(&b, test.err)
		if b.String() != test.want {
			t.Errorf("the error %v is printed as %q, want %q", test.err, b.String(), test.want)
		}
	}
}

// brokenWriter fails as standard output does on a full disk.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputThatCannotBeWrittenFails(t *testing.T) {
	var stderr bytes.Buffer
	code := Main([]string{"run", "--dry-run"}, strings.NewReader(""), brokenWriter{}, &stderr)
	want := "quorumbench: cannot write the result to standard output: no space left on device\n"
	if code != command.ExitFailed || stderr.String() != want {
		t.Errorf("exit code %d and %q, want 1 and %q", code, stderr.String(), want)
	}
}

// panickingWriter panics on every write. It simulates a defect in the program.
type panickingWriter struct{}

func (panickingWriter) Write(p []byte) (int, error) { return int(p[len(p)]), nil }

func TestPanicIsOneSentence(t *testing.T) {
	var stderr bytes.Buffer
	code := Main([]string{"version"}, strings.NewReader(""), panickingWriter{}, &stderr)
	text := stderr.String()
	if code != command.ExitFailed || strings.Count(text, "\n") != 1 ||
		!strings.HasPrefix(text, "quorumbench: internal error: ") || !strings.Contains(text, "main_test.go:") ||
		!strings.HasSuffix(text, "(please report)\n") {
		t.Errorf("exit code %d and %q", code, text)
	}
}

// An error about an unknown authority has only a remedy that the command offers.
func TestUnknownAuthorityNamesARemedyOfTheCommand(t *testing.T) {
	a := &commandLine{&command.App{Catalog: registry.Catalog{}}}
	unknown := errors.New("x509: certificate signed by unknown authority")
	for _, test := range []struct {
		command []string
		err     error
		remedy  string
	}{
		{[]string{"bench", "put"}, unknown, "with --cacert FILE"},
		{[]string{"check", "perf"}, unknown, "with --cacert FILE"},
		{[]string{"run"}, unknown, "tls: {cacert: FILE}"},
		{[]string{"check", "perf"}, fmt.Errorf("%w; set %s", unknown, command.UploadAuthority), ""},
		{[]string{"upload"}, unknown, ""},
		{[]string{"bench", "put"}, errors.New("it broke"), ""},
	} {
		c, _, err := a.root().Find(test.command)
		if err != nil {
			t.Fatal(err)
		}
		got := withAuthority(c, test.err).Error()
		if added := strings.TrimPrefix(got, test.err.Error()); !strings.HasSuffix(added, test.remedy) || (added == "") != (test.remedy == "") {
			t.Errorf("%v: the error is %q, want a remedy that ends with %q", test.command, got, test.remedy)
		}
	}
}
