//go:build linux

package e2e_test

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// nullServer starts a null server that runs until the end of the test, and returns its endpoints.
func (w *world) nullServer(t *testing.T, args ...string) (endpoints string) {
	t.Helper()
	p, endpoints := w.startNullServer(t, args...)
	t.Cleanup(func() {
		p.signal(t, syscall.SIGTERM)
		p.exits(t, exitDone)
	})
	return endpoints
}

// startNullServer starts a null server like nullServer, for a test that stops the server itself.
func (w *world) startNullServer(t *testing.T, args ...string) (p *startedProgram, endpoints string) {
	t.Helper()
	p = w.start(t, append([]string{"null-server"}, args...)...)
	eventually(t, patience, "the null server was ready", func() (whole bool) {
		endpoints, _, whole = strings.Cut(p.stdout.String(), "\n")
		return whole
	})
	return p, endpoints
}

// playground starts a cluster that runs until the end of the test, and returns its folder and
// endpoints.
func (w *world) playground(t *testing.T, members string) (dir string, endpoints []string) {
	t.Helper()
	dir = w.path("playground")
	up := w.run(t, "cluster", "up", "--dir", dir, "--members", members).exits(t, exitDone)
	t.Cleanup(func() {
		w.run(t, "cluster", "down", "--dir", dir).exits(t, exitDone)
		if left := w.members(); len(left) > 0 {
			t.Errorf("after `cluster down`, these members are still running: %v", left)
		}
	})
	line, _, _ := strings.Cut(up.stdout.String(), "\n")
	return dir, strings.Split(line, ",")
}

// bench runs `bench` against a cluster and returns the trial from its JSON output. It keeps the
// load's keys, so that later commands can use them.
func (w *world) bench(t *testing.T, endpoints []string, code int, args ...string) *record.Trial {
	t.Helper()
	if slices.Contains([]string{"put", "get", "mixed", "delete", "cas"}, args[0]) {
		args = append(args, "--cleanup=false")
	}
	args = append([]string{"bench"}, args...)
	p := w.run(t, append(args, "--endpoints", strings.Join(endpoints, ","), "--dial-timeout", patience.String(), "--format", "json")...)
	return result(t, p.exits(t, code))
}

// read returns a file's contents.
func (w *world) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(w.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
