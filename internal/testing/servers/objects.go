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

// VersityGWSource describes the S3 server, and how it is built.
func VersityGWSource() (store.ServerSource, error) {
	return goSource(objectServerFiles, "versitygw", "1.8.0", "github.com/versity/versitygw", "/cmd/versitygw")
}

// The credentials of an ObjectServer.
const (
	Access = "quorumbench-test"
	Secret = "correct-horse-battery-staple"
)

// ObjectServer is a real S3 server that stores objects in a folder.
type ObjectServer struct {
	Endpoint string // http://HOST:PORT
	Dir      string // its folders are buckets, its files objects
	start    func(testing.TB) host.Process
	process  host.Process
}

// StartS3 starts a server with buckets in a region until the end of the test; without it
// the test is skipped.
func StartS3(t testing.TB, region string) *ObjectServer {
	t.Helper()
	path, address, dir := built(t, VersityGWSource), freeAddress(t), t.TempDir()
	s := &ObjectServer{Endpoint: "http://" + address, Dir: filepath.Join(dir, "buckets")}
	for _, folder := range []string{s.Dir, filepath.Join(dir, "metadata")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.start = func(t testing.TB) host.Process {
		return started(t, address, host.Command{
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

// Start starts the server again with its data.
func (s *ObjectServer) Start(t testing.TB) {
	t.Helper()
	s.process = s.start(t)
}

// Kill kills the server like a crash.
func (s *ObjectServer) Kill(t testing.TB) {
	t.Helper()
	killed(s.process)
}
