package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/testing/program"
)

// Three stores: the server of builtStore is built into quorumbench, the server of proxyStore cannot
// be installed, and the server of madeStore can be installed because it is a Go module without
// dependencies.
type (
	builtStore struct {
		store.Store
		store.Embedded
	}
	proxyStore struct{ store.Store }
	madeStore  struct{ store.Store }
)

func (builtStore) Name() string { return "built" }
func (proxyStore) Name() string { return "proxy" }
func (madeStore) Name() string  { return "made" }

func (builtStore) Capabilities() kv.Capabilities {
	return kv.Capabilities{
		Operations: map[kv.Kind]string{kv.Put: "KV.Put", kv.Get: "KV.Range"},
		Reads:      map[kv.Consistency]string{kv.Local: "perhaps stale"},
		Durability: "synced",
	}
}
func (proxyStore) Capabilities() kv.Capabilities {
	return kv.Capabilities{
		NoOperations: map[kv.Kind]string{kv.Txn: "it dies"},
		NoReads:      map[kv.Consistency]string{kv.LeaderLease: "it lies"},
		MaxInFlight:  1, Durability: "none",
	}
}

func (madeStore) Capabilities() kv.Capabilities { return kv.Capabilities{Durability: "none"} }

func (builtStore) Server(version string) (store.ServerSource, error) {
	return store.BuiltInServer("built", "3.7.3", version)
}

func (proxyStore) Server(version string) (store.ServerSource, error) {
	return store.HandBuiltServer("proxy", "", version)
}

func (madeStore) Server(version string) (store.ServerSource, error) {
	versions := []string{"1.0.0", "0.9.0"}
	v, err := store.PickVersion("made", version, versions)
	source := store.ServerSource{
		Store: "made", Version: v, Versions: versions, Kind: store.GoModule, Package: "example.test/made",
		Files: fstest.MapFS{
			"go.mod.txt":  {Data: []byte("module example.test/made\n\ngo 1.24\n")},
			"main.go.txt": {Data: []byte("package main\n\nfunc main() { print(\"made\\n\") }\n")},
		},
		Tools: []store.Tool{{Name: "go", MissingMessage: "made needs Go"}}, License: "free of charge",
	}
	if v == "0.9.0" {
		source.Package = "example.test/none"
	}
	return source, err
}

// someStores returns the program with these three stores and a separate cache folder.
func someStores(t *testing.T) (a *commandLine, stdout, stderr *bytes.Buffer) {
	t.Helper()
	t.Setenv("GOCACHE", goCache(t))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a = &commandLine{&command.App{Stdout: command.NewOutput(stdout), Stderr: stderr, Screen: stderr, Catalog: someCatalog{}}}
	a.Lookup = func(name string) (store.Store, error) {
		switch name {
		case "built":
			return builtStore{}, nil
		case "proxy":
			return proxyStore{}, nil
		case "made":
			return madeStore{}, nil
		}
		return nil, command.Usage("there is no store %q", name)
	}
	return a, stdout, stderr
}

// goCache returns the folder of the Go build cache with which the tests were built.
func goCache(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("GOCACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "go-build")
}

type someCatalog struct{ scenario.Catalog }

func (someCatalog) Stores() []string { return []string{"built", "proxy", "made"} }

func run(t *testing.T, a *commandLine, args ...string) error {
	t.Helper()
	return a.execute(t.Context(), args)
}

func TestStoresTable(t *testing.T) {
	a, stdout, _ := someStores(t)
	if err := run(t, a, "stores"); err != nil {
		t.Fatal(err)
	}
	want := `store  servers here      operations  reads  in flight per connection
built  3.7.3 built in    put get     local  no limit
proxy  only with --exec                     1
made   none installed                       no limit

built
  put          KV.Put
  get          KV.Range
  local reads  perhaps stale
  durability   synced

proxy
  no txn          it dies
  no lease reads  it lies
  durability      none

made
  durability    none
  server 1.0.0  not installed: quorumbench stores install made@1.0.0
  server 0.9.0  not installed: quorumbench stores install made@0.9.0
  license       free of charge
`
	if got := stdout.String(); got != want {
		t.Errorf("the output is\n%s\nwant\n%s", got, want)
	}
}

func TestStoresInstall(t *testing.T) {
	a, stdout, stderr := someStores(t)
	if err := run(t, a, "stores", "install", "all"); err != nil {
		t.Fatal(err)
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(stdout.String()), "made 1.0.0 ")
	if !ok || filepath.Base(path) != "made" {
		t.Fatalf("the command printed %q", stdout)
	}
	for _, line := range []string{"made 1.0.0: fetching modules\n", "made 1.0.0: compiling, ", "made 1.0.0: checking\n", "quorumbench: made 1.0.0: free of charge\n"} {
		if !strings.Contains(stderr.String(), line) {
			t.Errorf("%q is not in %q", line, stderr)
		}
	}
	stdout.Reset()
	stderr.Reset()
	if err := run(t, a, "stores", "install", "made@v1.0.0"); err != nil || stderr.Len() > 0 {
		t.Errorf("the second installation returned %v and printed %q", err, stderr)
	}
	// Ctrl-C at the end of an installation does not hide that the server is installed.
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	stdout.Reset()
	source, err := madeStore{}.Server("")
	if err == nil {
		err = a.install(canceled, []store.ServerSource{source})
	}
	if err != nil || !strings.HasPrefix(stdout.String(), "made 1.0.0 ") {
		t.Errorf("the interrupted installation of an installed server returned %v and printed %q, want its path", err, stdout)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "manifest.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout.Reset()
	if err := run(t, a, "stores", "--format", "json"); err != nil {
		t.Fatal(err)
	}
	var got struct{ Stores []storeInfo }
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	server := got.Stores[2].Servers[0]
	if server.Installed || !strings.Contains(server.Problem, "is damaged") || !got.Stores[0].BuiltIn {
		t.Errorf("%+v", got)
	}
	stdout.Reset()
	if err := run(t, a, "stores"); err != nil || !strings.Contains(stdout.String(), "made   1.0.0 damaged") {
		t.Errorf("%v\n%s", err, stdout)
	}
}

func TestStoresInstallRefused(t *testing.T) {
	a, _, _ := someStores(t)
	for args, want := range map[string]string{
		"stores install":           "stores install needs a store",
		"stores install made made": `takes only a store (NAME or NAME@VERSION), or "all"`,
		"stores install built":     "the server of built is built into quorumbench",
		"stores install proxy":     "the server of proxy cannot be installed, because no registry has it",
		"stores install nope":      `there is no store "nope"`,
		"stores install made@7":    `cannot install version "7" of made; known versions: 1.0.0, 0.9.0`,
		"stores instal":            "did you mean install?",
		"stores --format xml":      `"xml" is not a valid value`,
	} {
		err := run(t, a, strings.Fields(args)...)
		if err == nil || !strings.Contains(err.Error(), want) || command.ExitCode(err) != command.ExitUsage {
			t.Errorf("%s: %v", args, err)
		}
	}
	err := run(t, a, "stores", "install", "made@0.9.0")
	if err == nil || command.ExitCode(err) != command.ExitFailed || !strings.Contains(err.Error(), "made 0.9.0 could not be installed: ") {
		t.Errorf("%v", err)
	}
}

func TestInstallationProgressIsDisplayed(t *testing.T) {
	var out bytes.Buffer
	width := 0
	var at time.Duration
	i := &installing{
		display: command.NewDisplay(&out, func() int { return width }),
		head:    "x 1", elapsed: func() time.Duration { return at },
	}
	i.show(install.Update{Step: "compiling"})
	i.show(install.Update{Step: "compiling", Detail: "1 of 9"})
	at += 10 * time.Second
	i.show(install.Update{Step: "compiling", Detail: "5 of 9"})
	i.show(install.Update{Step: "checking"})
	if got, want := out.String(), "x 1: compiling\nx 1: compiling, 5 of 9\nx 1: checking\n"; got != want {
		t.Errorf("the plain output is %q", got)
	}
	out.Reset()
	width = 10
	for step, want := range []string{"x 1: comp", "x 1: chec"} {
		i.show(install.Update{Step: [...]string{"compiling", "checking"}[step]})
		if got := strings.Join(program.Screen(out.String()), "\n"); got != want+"\n" {
			t.Errorf("the terminal shows %q, want %q", got, want)
		}
	}
}
