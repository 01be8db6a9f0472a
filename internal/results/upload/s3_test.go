package upload

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// environment is a user's with credentials for the test's server and none besides.
func environment(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": servers.Access, "AWS_SECRET_ACCESS_KEY": servers.Secret, "AWS_REGION": "us-east-1",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "HTTP_PROXY": "", "HTTPS_PROXY": "",
	} {
		t.Setenv(name, value)
	}
}

func TestS3(t *testing.T) {
	server := servers.StartS3(t)
	server.Bucket(t, "benchmarks")
	environment(t)
	dir := aRun(t, "20261122-quick", 3, 20<<20) // a file that is sent in parts
	d := parse(t, "s3://benchmarks/a/b?endpoint="+server.Endpoint)
	copied := filepath.Join(server.Dir, "benchmarks", "a", "b", "20261122-quick")
	send(t, d, dir, 9)
	same(t, dir, copied)
	send(t, d, dir, 0)

	// An object that somebody replaced: the store's MD5 is another.
	corrupt := parse(t, "s3://benchmarks/a/b?endpoint="+server.Endpoint)
	b, err := corrupt.open(t.Context(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	other := []byte(strings.Repeat("second,7\n", 400))
	if err := b.write(t.Context(), "a/b/20261122-quick/trial-01-put/timeline.csv", bytes.NewReader(other), int64(len(other))); err != nil {
		t.Fatal(err)
	}
	send(t, d, dir, 1)
	same(t, dir, copied)

	// One that rotted behind the store's back, which still says the old MD5.
	put(t, copied, "trial-02-put/timeline.csv", string(other))
	send(t, d, dir, 0)
	sendAs(t, d, dir, 1, Options{ReadBack: true})
	same(t, dir, copied)

	// One in parts, whose ETag is no MD5, is read anyway.
	large := read(t, filepath.Join(copied, "history.jsonl.zst"))
	large[7<<20] ^= 1
	put(t, copied, "history.jsonl.zst", string(large))
	send(t, d, dir, 1)
	same(t, dir, copied)

	for _, path := range listFiles(t, server.Dir) {
		if bytes.Contains(read(t, filepath.Join(server.Dir, path)), []byte(servers.Secret)) {
			t.Errorf("%s has the secret", path)
		}
	}
}

// A server that is killed while a run is sent, and comes back, has the run in the
// end; in between nothing says that it is whole.
func TestS3KilledServer(t *testing.T) {
	server := servers.StartS3(t)
	server.Bucket(t, "benchmarks")
	environment(t)
	dir := aRun(t, "run", 40, 6<<20)
	d := parse(t, "s3://benchmarks?endpoint="+server.Endpoint)
	copied := filepath.Join(server.Dir, "benchmarks", "run")
	killed := false
	_, err := d.Send(t.Context(), dir, Options{Progress: func(p Progress) {
		if p.Step == "sending" && p.Files == 20 && !killed {
			killed = true
			server.Kill(t)
		}
	}})
	sentence(t, err, "nobody listens at the address of s3://benchmarks", "connection refused")
	if there := listFiles(t, copied); len(there) < 10 || len(there) > 40 {
		t.Errorf("%d files are there", len(there))
	}
	if _, err := os.Stat(filepath.Join(copied, manifestName)); err == nil {
		t.Error("there is a manifest")
	}
	server.Start(t)
	sent, err := d.Send(t.Context(), dir, Options{})
	if err != nil || sent.Anew < 43 || sent.Anew > 70 {
		t.Errorf("%d of %d sent, %v", sent.Anew, sent.Files, err)
	}
	same(t, dir, copied)
}

func TestS3Refusals(t *testing.T) {
	server := servers.StartS3(t)
	server.Bucket(t, "benchmarks")
	environment(t)
	dir := aRun(t, "run", 1, 0)
	at := "?endpoint=" + server.Endpoint
	refused(t, parse(t, "s3://none"+at), dir, "there is no bucket none: make it")
	d := parse(t, "s3://benchmarks"+at)

	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong-and-secret")
	refused(t, d, dir, "s3://benchmarks refuses the credentials (", "set AWS_ACCESS_KEY_ID")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	refused(t, d, dir, "there are no credentials for s3://benchmarks: set AWS_ACCESS_KEY_ID")
	environment(t)
	t.Setenv("AWS_REGION", "")
	refused(t, parse(t, "s3://benchmarks"+at), dir, "the region of s3://benchmarks is not known, or is another: set AWS_REGION")
	environment(t)

	// Nobody listens, nobody answers, nobody is known.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mute := parse(t, "s3://benchmarks?endpoint=http://"+l.Addr().String())
	_, err = mute.Send(t.Context(), dir, Options{Patience: 100 * time.Millisecond})
	sentence(t, err, "s3://benchmarks has not moved for 100ms")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	sentence(t, mute.Check(t.Context()), "nobody listens", l.Addr().String())
	sentence(t, parse(t, "s3://benchmarks?endpoint=http://none.invalid").Check(t.Context()), "there is no host none.invalid")
}
