package servers

import (
	"embed"
	"path/filepath"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

//go:embed kine/*.txt
var kineFiles embed.FS

// KineSource describes how to build kine. Without cgo, kine uses an SQLite that is written in Go.
func KineSource() (store.ServerSource, error) {
	return goSource(kineFiles, "kine", "0.17.5", "github.com/k3s-io/kine", "")
}

// StartKine starts a kine server that runs until the end of the test, and returns its endpoint. If
// kine is not installed and cannot be built, the test is skipped.
func StartKine(t testing.TB) string {
	t.Helper()
	path, address, dir := buildOrSkip(t, KineSource), freeAddress(t), t.TempDir()
	p := startAndAwait(t, address, host.Command{
		Path: path, Dir: dir,
		Args: []string{"--listen-address", "tcp://" + address, "--metrics-bind-address", "0",
			"--endpoint", "sqlite://" + filepath.Join(dir, "state.db") + "?_journal=WAL&cache=shared&_busy_timeout=30000&_synchronous=OFF"},
	})
	t.Cleanup(func() { kill(p) })
	return address
}
