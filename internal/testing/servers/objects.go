package servers

import (
	"embed"
	"os"
	"path/filepath"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

//go:embed versitygw/*.txt
var objectServerFiles embed.FS

// VersityGWSource describes how to build the S3 server versitygw.
func VersityGWSource() (store.ServerSource, error) {
	return goSource(objectServerFiles, "versitygw", "1.8.0", "github.com/versity/versitygw", "/cmd/versitygw")
}

// These are the credentials for an ObjectServer.
const (
	Access = "quorumbench-test"
	Secret = "correct-horse-battery-staple"
)

// ObjectServer is a real S3 server that stores objects in a folder.
type ObjectServer struct {
	Endpoint string // http://HOST:PORT
	Dir      string // each folder in it is a bucket, and each file is an object
	start    func(testing.TB) host.Process
	process  host.Process
}

// StartS3 starts an S3 server for buckets in the given region. The server runs until the end of the
// test. If the server is not installed and cannot be built, the test is skipped.
func StartS3(t testing.TB, region string) *ObjectServer {
	t.Helper()
	path, address, dir := buildOrSkip(t, VersityGWSource), freeAddress(t), t.TempDir()
	s := &ObjectServer{Endpoint: "http://" + address, Dir: filepath.Join(dir, "buckets")}
	for _, folder := range []string{s.Dir, filepath.Join(dir, "metadata")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.start = func(t testing.TB) host.Process {
		return startAndAwait(t, address, host.Command{
			Path: path, Dir: dir,
			Args: []string{"--port", address, "--region", region, "--quiet", "posix", "--sidecar", filepath.Join(dir, "metadata"), s.Dir},
			Env:  []string{"ROOT_ACCESS_KEY=" + Access, "ROOT_SECRET_KEY=" + Secret},
		})
	}
	s.Start(t)
	t.Cleanup(func() { s.Kill(t) })
	return s
}

// Bucket creates a bucket.
func (s *ObjectServer) Bucket(t testing.TB, name string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(s.Dir, name), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Start starts the server again after Kill, with the data that it had.
func (s *ObjectServer) Start(t testing.TB) {
	t.Helper()
	s.process = s.start(t)
}

// Kill kills the server without warning, like a crash.
func (s *ObjectServer) Kill(t testing.TB) {
	t.Helper()
	kill(s.process)
}
