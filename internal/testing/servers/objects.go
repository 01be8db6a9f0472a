package servers

import (
	"context"
	"embed"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

//go:embed versitygw/*.txt
var objectServerFiles embed.FS

// VersityGWSource describes the S3 server, and how it is built.
func VersityGWSource() (store.ServerSource, error) {
	const name, version, module = "versitygw", "1.8.0", "github.com/versity/versitygw"
	s := store.ServerSource{
		Store: name, Version: version, Versions: []string{version}, Kind: store.GoModule,
		Package: module + "/cmd/versitygw", LDFlags: "-s -w",
		Tools:   []store.Tool{{Name: "go", Missing: "building versitygw needs Go"}},
		Check:   store.ServerCheck{Module: module + "@v" + version, Args: []string{"--version"}},
		License: "Apache License 2.0",
	}
	var err error
	s.Files, err = fs.Sub(objectServerFiles, name)
	return s, err
}

// The credentials of a Server.
const (
	Access = "quorumbench-test"
	Secret = "correct-horse-battery-staple"
)

// ObjectServer is a real S3 server over a folder.
type ObjectServer struct {
	Endpoint string // http://HOST:PORT
	Dir      string // its buckets are folders in it, and objects files
	start    func(testing.TB) host.Process
	process  host.Process
}

// StartS3 starts a server whose buckets are in a region, which ends with the test;
// without it the test is skipped.
func StartS3(t testing.TB, region string) *ObjectServer {
	t.Helper()
	source, err := VersityGWSource()
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
	s := &ObjectServer{Endpoint: "http://" + address, Dir: filepath.Join(dir, "buckets")}
	for _, folder := range []string{s.Dir, filepath.Join(dir, "metadata")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.start = func(t testing.TB) host.Process {
		p, err := machine.Start(t.Context(), host.Command{
			Path: path, Dir: dir, LogFile: filepath.Join(dir, "log"),
			Args: []string{"--port", address, "--region", region, "--quiet", "posix", "--sidecar", filepath.Join(dir, "metadata"), s.Dir},
			Env:  []string{"ROOT_ACCESS_KEY=" + Access, "ROOT_SECRET_KEY=" + Secret},
		})
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
	s.Start(t)
	t.Cleanup(func() { s.Kill(t) })
	return s
}

// Bucket makes a bucket.
func (s *ObjectServer) Bucket(t testing.TB, name string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(s.Dir, name), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Start starts the server again, with what it had.
func (s *ObjectServer) Start(t testing.TB) {
	t.Helper()
	s.process = s.start(t)
}

// Kill ends it as a crash does.
func (s *ObjectServer) Kill(t testing.TB) {
	t.Helper()
	_ = s.process.Signal(context.Background(), host.Kill)
	<-s.process.Exited()
}
