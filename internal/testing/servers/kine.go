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

// KineSource describes the server. Without cgo it uses SQLite in Go.
func KineSource() (store.ServerSource, error) {
	return goSource(kineFiles, "kine", "0.17.5", "github.com/k3s-io/kine", "")
}

// StartKine starts a server until the end of the test and returns its endpoint; without it
// the test is skipped.
func StartKine(t testing.TB) string {
	t.Helper()
	path, address, dir := built(t, KineSource), freeAddress(t), t.TempDir()
	p := started(t, address, host.Command{
		Path: path, Dir: dir,
		Args: []string{"--listen-address", "tcp://" + address, "--metrics-bind-address", "0",
			"--endpoint", "sqlite://" + filepath.Join(dir, "state.db") + "?_journal=WAL&cache=shared&_busy_timeout=30000&_synchronous=OFF"},
	})
	t.Cleanup(func() { killed(p) })
	return address
}
