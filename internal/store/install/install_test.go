//go:build unix

package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/quorumbench/quorumbench/internal/store"
)

// tiny returns a Go module that can be built like a server and has no dependencies to download.
func tiny() store.ServerSource {
	return store.ServerSource{
		Store: "tiny", Version: "1.2.3", Versions: []string{"1.2.3", "1.2.2"},
		Kind: store.GoModule,
		Files: fstest.MapFS{
			"go.mod.txt":        {Data: []byte("module example.test/tiny\n\ngo 1.24\n\nrequire example.test/said v0.0.0\n\nreplace example.test/said => ./said\n")},
			"go.sum.txt":        {},
			"main.go.txt":       {Data: []byte("package main\n\nimport \"example.test/said\"\n\nfunc main() { print(said.Version, \"\\n\") }\n")},
			"said/go.mod.txt":   {Data: []byte("module example.test/said\n\ngo 1.24\n")},
			"said/said.go.txt":  {Data: []byte("// Package said is a stub.\npackage said\n\n// Version is set by the linker.\nvar Version string\n")},
			"said/LICENSE.none": {Data: []byte("x")},
		},
		Package: "example.test/tiny",
		LDFlags: "-s -w -X example.test/said.Version=tiny-1.2.3",
		Tools:   []store.Tool{{Name: "go", MissingMessage: "building tiny needs Go 1.24 or newer"}},
		Check:   store.ServerCheck{Args: []string{"version"}, ExpectedOutput: "tiny-1.2.3", RequiredFiles: []string{"tiny"}},
		License: "none",
	}
}

// steps collects the names of an installation's steps.
type steps []string

func (s *steps) add(u Update) {
	if len(*s) == 0 || (*s)[len(*s)-1] != u.Step {
		*s = append(*s, u.Step)
	}
}

func TestGoModule(t *testing.T) {
	c := Cache{Dir: filepath.Join(t.TempDir(), "servers")}
	source := tiny()
	if path, ok, err := c.Installed(source); ok || err != nil {
		t.Fatalf("before the installation, Installed returned %q %v %v", path, ok, err)
	}
	var reported steps
	path, err := c.Ensure(t.Context(), source, reported.add)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(c.Dir, "tiny-1.2.3", "tiny"); path != want {
		t.Errorf("path %s, not %s", path, want)
	}
	if got := strings.Join(reported, ", "); got != "fetching modules, compiling, checking" {
		t.Errorf("the reported steps are %s", got)
	}
	if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != "tiny-1.2.3\n" {
		t.Errorf("the installed program printed %q, %v", out, err)
	}
	checkDirContents(t, c.Dir, ".tiny-1.2.3.lock", "tiny-1.2.3")
	checkDirContents(t, filepath.Join(c.Dir, "tiny-1.2.3"), "manifest.json", "tiny")

	reported = nil
	again, err := c.Ensure(t.Context(), source, reported.add)
	if err != nil || again != path || len(reported) != 0 {
		t.Errorf("the second installation returned %q %v and reported %v", again, err, reported)
	}
	source.LDFlags = "-s"
	if _, ok, err := c.Installed(source); ok || err != nil {
		t.Errorf("Installed accepted a different description: %v %v", ok, err)
	}
}

func TestDamagedServerIsFoundAndBuiltAgain(t *testing.T) {
	c, source := fakeMaven(t, copies)
	ensure(t, c, source)
	dir := filepath.Join(c.Dir, "jars-2.0")
	for what, damage := range map[string]func() error{
		"lib/a-2.0.jar was changed since it was built": func() error {
			return os.WriteFile(filepath.Join(dir, "lib", "a-2.0.jar"), []byte("other"), 0o644)
		},
		"lib/a-2.0.jar is missing": func() error { return os.Remove(filepath.Join(dir, "lib", "a-2.0.jar")) },
		"its manifest cannot be read": func() error {
			return os.WriteFile(filepath.Join(dir, manifestFile), []byte(`{"schema"`), 0o644)
		},
		"its manifest lists no files":             func() error { return rewrite(dir, func(m *manifest) { clear(m.Files) }) },
		`lists the file "../x", which is outside`: func() error { return rewrite(dir, func(m *manifest) { m.Files["../x"] = "" }) },
		"run quorumbench stores install jar":      func() error { return os.RemoveAll(filepath.Join(dir, "lib")) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := c.Installed(source); ok || err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v %v", what, ok, err)
		}
		ensure(t, c, source)
		checkDirContents(t, c.Dir, ".jars-2.0.lock", "jars-2.0")
	}
	if err := rewrite(dir, func(m *manifest) { m.Schema++ }); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := c.Installed(source); ok || err != nil {
		t.Errorf("Installed accepted a manifest of another version of the program: %v %v", ok, err)
	}
}

func TestBuildThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*store.ServerSource)
		want   string
	}{
		"compile": {func(s *store.ServerSource) {
			s.Files.(fstest.MapFS)["main.go.txt"] = &fstest.MapFile{Data: []byte("package main\n\nfunc main() { nothing() }\n")}
		}, "undefined: nothing"},
		"version": {func(s *store.ServerSource) { s.Check.ExpectedOutput = "tiny-9" }, "the output of `tiny version` does not contain \"tiny-9\""},
		"module":  {func(s *store.ServerSource) { s.Check.Module = "example.test/other@v1" }, "without the module example.test/other"},
		"replaced": {func(s *store.ServerSource) { s.Check.Module = "example.test/said@v1" },
			"the binary was built from example.test/said"},
		"file":    {func(s *store.ServerSource) { s.Check.RequiredFiles = []string{"lib/x.jar"} }, "did not create lib/x.jar"},
		"sum":     {func(s *store.ServerSource) { s.Check.Sums = map[string]string{"tiny": "00"} }, "not 00"},
		"package": {func(s *store.ServerSource) { s.Package = "example.test/nope" }, "example.test/nope"},
		"kind":    {func(s *store.ServerSource) { s.Kind = 9 }, "of kind 9"},
		"no files": {func(s *store.ServerSource) { s.Files = nil },
			"the description of tiny 1.2.3 has no files"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Cache{Dir: t.TempDir()}
			source := tiny()
			test.change(&source)
			_, err := c.Ensure(t.Context(), source, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has more than one line: %v", err)
			}
			if built, _ := filepath.Glob(filepath.Join(c.Dir, "*tiny-1.2.3*", "*")); len(built) > 0 {
				t.Errorf("the failed installation left %s", built)
			}
		})
	}
}

func TestMissingTools(t *testing.T) {
	c := Cache{Dir: t.TempDir()}
	source := tiny()
	source.Tools = append(source.Tools, store.Tool{Name: "java", MissingMessage: "tiny needs Java 11 or newer", NeededToRun: true})
	t.Setenv("PATH", t.TempDir())
	_, err := c.Ensure(t.Context(), source, nil)
	if err == nil || err.Error() != "building tiny needs Go 1.24 or newer\ntiny needs Java 11 or newer" {
		t.Errorf("%v", err)
	}
	if _, err := Executable("/bin/true", source); err == nil || err.Error() != "tiny needs Java 11 or newer" {
		t.Errorf("Executable without the required Java returned: %v", err)
	}
}

func TestExecutable(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	source := tiny()
	if path, err := Executable("/opt/tiny", source); err != nil || path != "/opt/tiny" {
		t.Errorf("Executable with a given path returned %q %v", path, err)
	}
	_, err := Executable("", source)
	if err == nil || err.Error() != "tiny's server is not installed: run quorumbench stores install tiny" {
		t.Errorf("%v", err)
	}
	source.Version = "1.2.2"
	if _, err := Executable("", source); err == nil || !strings.HasSuffix(err.Error(), "install tiny@1.2.2") {
		t.Errorf("%v", err)
	}
	cached, err := UserCache()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cached.Dir, "tiny-1.2.2")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, manifestFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Executable("", source); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("%v", err)
	}
}

func TestPickVersion(t *testing.T) {
	known := []string{"3.9.5", "3.8.4"}
	for asked, want := range map[string]string{"": "3.9.5", "3.8.4": "3.8.4", "v3.9.5": "3.9.5"} {
		if got, err := store.PickVersion("x", asked, known); err != nil || got != want {
			t.Errorf("%q: %q %v", asked, got, err)
		}
	}
	_, err := store.PickVersion("x", "4", known)
	if err == nil || !strings.Contains(err.Error(), "known versions: 3.9.5, 3.8.4") {
		t.Errorf("%v", err)
	}
}

func ensure(t *testing.T, c Cache, source store.ServerSource) {
	t.Helper()
	path, err := c.Ensure(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := c.Installed(source); err != nil || !ok || got != path {
		t.Fatalf("after the installation, Installed returned %q %v %v", got, ok, err)
	}
}

// checkDirContents checks that a folder contains the given entries and no others.
func checkDirContents(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s contains %q, want %q", dir, got, want)
	}
}

func rewrite(dir string, change func(*manifest)) error {
	b, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return err
	}
	m := &manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return err
	}
	change(m)
	return m.write(dir)
}

func TestUnreadableFiles(t *testing.T) {
	source := tiny()
	source.Files = brokenFS{}
	if _, _, err := (Cache{Dir: t.TempDir()}).Installed(source); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
}

type brokenFS struct{}

func (brokenFS) Open(string) (fs.File, error) { return nil, fs.ErrPermission }
