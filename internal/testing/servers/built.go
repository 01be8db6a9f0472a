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

// goSource describes a server that is built from a Go module. The folder `name` contains the
// server's go.mod and go.sum. The parameter `command` is the path of the package within the module.
func goSource(files embed.FS, name, version, module, command string) (store.ServerSource, error) {
	s := store.ServerSource{
		Store: name, Version: version, Versions: []string{version}, Kind: store.GoModule,
		Package: module + command, LDFlags: "-s -w",
		Tools:   []store.Tool{{Name: "go", MissingMessage: "building " + name + " needs Go"}},
		Check:   store.ServerCheck{Module: module + "@v" + version, Args: []string{"--version"}},
		License: "Apache License 2.0",
	}
	var err error
	s.Files, err = fs.Sub(files, name)
	return s, err
}

// buildOrSkip returns the path of a server, and builds the server if necessary. If the build fails,
// it skips the test.
func buildOrSkip(t testing.TB, describe func() (store.ServerSource, error)) string {
	t.Helper()
	source, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	path, err := install.Ensure(t.Context(), source, nil)
	if err != nil {
		t.Skip("no real server: ", err)
	}
	return path
}

// freeAddress returns a loopback address that is reserved until the end of the test.
func freeAddress(t testing.TB) string {
	t.Helper()
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	return net.JoinHostPort(lease.Address, strconv.Itoa(lease.Ports[0]))
}

// startAndAwait starts a server that writes a log in its folder, and waits until it listens.
func startAndAwait(t testing.TB, address string, c host.Command) host.Process {
	t.Helper()
	c.LogFile = filepath.Join(c.Dir, "log")
	p, err := host.NewLocal(nil, nil).Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	storetest.Poll(ctx, t, func() error {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	})
	return p
}

// kill kills a process to simulate a crash.
func kill(p host.Process) {
	_ = p.Signal(context.Background(), host.Kill) // an error means that the process has already ended
	<-p.Exited()
}
