//go:build linux

package e2e_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// action is the part of deploy/action/action.yml that the test uses.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Name, ID, If, Shell, Run string
			Env                      map[string]string
		}
	}
}

// actionJob executes the steps of the action as a GitHub runner does.
type actionJob struct {
	dir    string
	values map[string]string // of expressions, by their text
	env    []string
}

var expression = regexp.MustCompile(`\$\{\{ *([^ }]+) *\}\}`)

func (j *actionJob) expand(t *testing.T, text string) string {
	return expression.ReplaceAllStringFunc(text, func(s string) string {
		name := expression.FindStringSubmatch(s)[1]
		value, known := j.values[name]
		if !known && !strings.HasPrefix(name, "steps.") {
			t.Fatalf("the expression %s has no value", s)
		}
		return value
	})
}

// read returns the lines NAME=VALUE of a file that a step has written.
func (j *actionJob) read(t *testing.T, file string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(j.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		all[name] = value
	}
	return all
}

// execute runs the steps until one fails, and returns the failed step's name and its exit code.
func (j *actionJob) execute(t *testing.T, a *action) (failed string, code int) {
	t.Helper()
	for _, s := range a.Runs.Steps {
		if s.If == "inputs.token != ''" && j.values["inputs.token"] == "" {
			continue
		}
		script := filepath.Join(j.dir, "step.sh")
		if err := os.WriteFile(script, []byte(j.expand(t, s.Run)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"env", "output"} {
			if err := os.WriteFile(filepath.Join(j.dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.CommandContext(t.Context(), s.Shell, "--noprofile", "--norc", "-eo", "pipefail", script)
		c.Dir, c.Env = j.dir, j.env
		for name, value := range s.Env {
			c.Env = append(c.Env, name+"="+j.expand(t, value))
		}
		out, err := c.CombinedOutput()
		t.Logf("%s:\n%s", s.Name, out)
		var e *exec.ExitError
		if errors.As(err, &e) {
			return s.Name, e.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		for name, value := range j.read(t, "env") {
			j.env = append(j.env, name+"="+value)
		}
		for name, value := range j.read(t, "output") {
			j.values["steps."+s.ID+".outputs."+name] = value
		}
	}
	return "", 0
}

// readAction reads the action.
func readAction(t *testing.T) *action {
	t.Helper()
	b, err := os.ReadFile("../../../deploy/action/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	a := &action{}
	if err := yaml.Unmarshal(b, a); err != nil {
		t.Fatal(err)
	}
	return a
}

// The action builds a program that knows the commit, or the tag or branch, of the action. A script
// replaces the go command and writes the command's arguments to a file.
func TestActionSetsTheVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const (
		commit    = "0123456789abcdef0123456789abcdef01234567"
		variables = "github.com/quorumbench/quorumbench/internal/cli/command.release"
	)
	fake := "#!/bin/sh\nprintf '%s\\n' \"$@\" >'" + w.path("arguments") + "'\n"
	if err := errors.Join(os.Mkdir(w.path("bin"), 0o755), os.MkdirAll(w.path("deploy", "action"), 0o755),
		os.WriteFile(w.path("bin", "go"), []byte(fake), 0o755)); err != nil {
		t.Fatal(err)
	}
	a := readAction(t)
	a.Runs.Steps = a.Runs.Steps[:1]
	for ref, want := range map[string]string{
		"": "", "v1.2.3": "-X " + variables + "Version=v1.2.3",
		commit: "-X " + variables + "Version=devel -X " + variables + "Revision=" + commit,
	} {
		j := &actionJob{dir: w.dir, values: map[string]string{"inputs.quorumbench": "", "github.action_ref": ref}}
		j.env = append(slices.Clone(w.env), "PATH="+w.path("bin")+":"+os.Getenv("PATH"), "GITHUB_ENV="+w.path("env"),
			"RUNNER_TEMP="+w.path("tmp"), "GITHUB_ACTION_PATH="+w.path("deploy", "action"))
		if step, code := j.execute(t, a); step != "" {
			t.Fatalf("%q: the step %q ended with exit code %d", ref, step, code)
		}
		arguments, err := os.ReadFile(w.path("arguments"))
		if err != nil {
			t.Fatal(err)
		}
		program := w.path("tmp", "quorumbench")
		if got := strings.Split(string(arguments), "\n"); !slices.Equal(got, []string{"build", "-trimpath", "-ldflags", want, "-o", program, "./cmd/quorumbench", ""}) {
			t.Errorf("%q: %q", ref, got)
		}
	}
}

// The GitHub action measures two builds, and posts the comparison in the summary and, with a token,
// as a comment.
func TestAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := readAction(t)
	st, err := registry.Lookup("etcdv2")
	if err != nil {
		t.Fatal(err)
	}
	server := servers.InstalledServer(t, st) // etcd 3.5, which has both interfaces
	// Two builds count as different if their paths differ.
	if err := os.Symlink(server, w.path("base-etcd")); err != nil {
		t.Fatal(err)
	}
	scenario := w.file(t, "short.yaml", "trials: [{operation: put, store: etcd, members: 1, clients: 4, key-space: 100, duration: 300ms, warmup: 50ms, repeats: 2}]\n")
	// A script replaces the command gh. It keeps the comment in a file and sends nothing.
	gh := "#!/bin/sh\n[ \"$1 $2 $3 $4\" = \"pr comment https://example.org/pull/1 --body-file\" ] && [ \"$GH_TOKEN\" = secret ] && cp \"$5\" comment.md\n"
	if err := errors.Join(os.Mkdir(w.path("bin"), 0o755), os.WriteFile(w.path("bin", "gh"), []byte(gh), 0o755)); err != nil {
		t.Fatal(err)
	}
	j := &actionJob{dir: w.dir, values: map[string]string{"github.event.pull_request.html_url": "https://example.org/pull/1", "github.action_ref": ""}}
	for name, input := range a.Inputs {
		j.values["inputs."+name] = input.Default
	}
	maps.Copy(j.values, map[string]string{
		"inputs.head": server, "inputs.base": w.path("base-etcd"), "inputs.scenario": scenario, "inputs.token": "secret",
		"inputs.quorumbench": os.Getenv(binaryEnv), "inputs.compare-flags": "--metric ops --margin 90%",
	})
	j.env = append(w.env, "PATH="+w.path("bin")+":"+os.Getenv("PATH"), "GITHUB_ENV="+w.path("env"), "GITHUB_OUTPUT="+w.path("output"),
		"GITHUB_STEP_SUMMARY="+w.path("summary.md"), "RUNNER_TEMP="+w.path("tmp"), "GITHUB_ACTION_PATH="+w.path("action"))
	// Two repeats of each build are too few for a judgment, which is exit code 6.
	if step, code := j.execute(t, a); step != "Fail if a figure is worse" || code != exitNotKnown {
		t.Fatalf("the step %q ended with exit code %d", step, code)
	}
	summary, err1 := os.ReadFile(w.path("summary.md"))
	comment, err2 := os.ReadFile(w.path("comment.md"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if string(summary) != string(comment) || !strings.Contains(string(summary), "| metric |") {
		t.Errorf("the summary is\n%s\nbut the comment is\n%s", summary, comment)
	}
	if j.values["steps.compare.outputs.worse"] != "false" {
		t.Errorf("the output \"worse\" is %q, want \"false\"", j.values["steps.compare.outputs.worse"])
	}
}
