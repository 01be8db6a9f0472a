package servers

import (
	"context"
	"embed"
	"io/fs"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

//go:embed kine/*.txt
var kineFiles embed.FS

const (
	kineModule  = "github.com/k3s-io/kine"
	kineVersion = "0.17.5"
)

// KineSource is the server's description. Without cgo its SQLite is the one in Go.
func KineSource() (store.ServerSource, error) {
	s := store.ServerSource{
		Store: "kine", Version: kineVersion, Versions: []string{kineVersion}, Kind: store.GoModule,
		Package: kineModule, LDFlags: "-s -w",
		Tools:   []store.Tool{{Name: "go", Missing: "building kine needs Go"}},
		Check:   store.ServerCheck{Module: kineModule + "@v" + kineVersion, Args: []string{"--version"}},
		License: "Apache License 2.0",
	}
	var err error
	s.Files, err = fs.Sub(kineFiles, "kine")
	return s, err
}

// StartKine starts a server, which ends with the test, and returns its endpoint; without it
// the test is skipped.
func StartKine(t testing.TB) string {
	t.Helper()
	source, err := KineSource()
	if err != nil {
		t.Fatal(err)
	}
	path, err := install.Ensure(t.Context(), source, nil)
	if err != nil {
		t.Skip("no real server: ", err)
	}
	machine := host.NewLocal(nil, nil)
	lease, err := machine.Ports(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	dir := t.TempDir()
	address := net.JoinHostPort(lease.Address, strconv.Itoa(lease.Ports[0]))
	p, err := machine.Start(t.Context(), host.Command{
		Path: path, Dir: dir, LogFile: filepath.Join(dir, "log"),
		Args: []string{"--listen-address", "tcp://" + address, "--metrics-bind-address", "0",
			"--endpoint", "sqlite://" + filepath.Join(dir, "state.db") + "?_journal=WAL&cache=shared&_busy_timeout=30000&_synchronous=OFF"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Signal(context.Background(), host.Kill)
		<-p.Exited()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	storetest.Poll(ctx, t, func() error {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	})
	return address
}
