package upload

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// environment sets environment variables to the credentials for the test's server, and hides all
// other credentials.
func environment(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": servers.Access, "AWS_SECRET_ACCESS_KEY": servers.Secret, "AWS_REGION": "us-east-1",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "HTTP_PROXY": "", "HTTPS_PROXY": "",
	} {
		t.Setenv(name, value)
	}
}

func TestS3(t *testing.T) {
	server := servers.StartS3(t, "us-east-1")
	server.Bucket(t, "benchmarks")
	environment(t)
	dir := aRun(t, "20261122-quick", 3, 20<<20) // large enough to be sent in parts
	d := parse(t, "s3://benchmarks/a/b?endpoint="+server.Endpoint)
	copied := filepath.Join(server.Dir, "benchmarks", "a", "b", "20261122-quick")
	send(t, d, dir, 9)
	same(t, dir, copied)
	send(t, d, dir, 0)

	// If another program has replaced an object, the MD5 of the object differs.
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

	// Damage to an object in the store's folder is found only with ReadBack, because the store
	// still reports the old MD5.
	put(t, copied, "trial-02-put/timeline.csv", string(other))
	send(t, d, dir, 0)
	sendAs(t, d, dir, 1, Options{ReadBack: true})
	same(t, dir, copied)

	// A damaged multi-part object is always found: its ETag is not an MD5, so the upload reads the
	// object.
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

// TestS3KilledServer kills the server during an upload. Without a manifest, the upload is
// incomplete. After a restart of the server, another call completes the upload.
func TestS3KilledServer(t *testing.T) {
	server := servers.StartS3(t, "us-east-1")
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
	sentence(t, err, "no server listens at the address of s3://benchmarks", "connection refused")
	if there := listFiles(t, copied); len(there) < 10 || len(there) > 40 {
		t.Errorf("the destination has %d files", len(there))
	}
	if _, err := os.Stat(filepath.Join(copied, manifestName)); err == nil {
		t.Error("the failed upload wrote a manifest")
	}
	server.Start(t)
	sent, err := d.Send(t.Context(), dir, Options{})
	if err != nil || sent.NewFiles < 43 || sent.NewFiles > 70 {
		t.Errorf("%d of %d sent, %v", sent.NewFiles, sent.Files, err)
	}
	same(t, dir, copied)
}

func TestS3Refusals(t *testing.T) {
	server := servers.StartS3(t, "us-east-1")
	server.Bucket(t, "benchmarks")
	environment(t)
	dir := aRun(t, "run", 1, 0)
	at := "?endpoint=" + server.Endpoint
	refused(t, parse(t, "s3://none"+at), dir, "the bucket none does not exist: create it")
	d := parse(t, "s3://benchmarks"+at)

	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong-and-secret")
	refused(t, d, dir, "s3://benchmarks rejected the credentials (", "set AWS_ACCESS_KEY_ID")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	refused(t, d, dir, "no credentials were found for s3://benchmarks: set AWS_ACCESS_KEY_ID")
	environment(t)
	t.Setenv("AWS_REGION", "eu-north-1") // not the server's region
	refused(t, parse(t, "s3://benchmarks"+at), dir, "the region of s3://benchmarks is unknown or wrong: set AWS_REGION")
	t.Setenv("AWS_REGION", "") // the library asks the server for the region
	send(t, d, dir, 4)
	environment(t)

	// Three errors in turn: no server listens at the address, the server does not respond, and the
	// host does not exist.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mute := parse(t, "s3://benchmarks?endpoint=http://"+l.Addr().String())
	_, err = mute.Send(t.Context(), dir, Options{TransferTimeout: 100 * time.Millisecond})
	sentence(t, err, "no data was transferred to or from s3://benchmarks for 100ms")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	sentence(t, mute.Check(t.Context()), "no server listens", l.Addr().String())
	sentence(t, parse(t, "s3://benchmarks?endpoint=http://none.invalid").Check(t.Context()), "the host none.invalid does not exist")
}

// TestGS checks uploads to a bucket of Google, which has an S3 interface with the region "auto".
// Each object is sent in one request, so that the store reports its MD5.
func TestGS(t *testing.T) {
	server := servers.StartS3(t, "auto")
	server.Bucket(t, "benchmarks")
	environment(t)
	t.Setenv("GS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_REGION", "us-east-1") // not Google's region
	dir := aRun(t, "run", 1, 20<<20)
	d := parse(t, "gs://benchmarks/a?endpoint="+server.Endpoint)
	refused(t, d, dir, "no credentials were found for gs://benchmarks/a: set GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY")
	t.Setenv("GS_ACCESS_KEY_ID", servers.Access)
	t.Setenv("GS_SECRET_ACCESS_KEY", "wrong-and-secret")
	refused(t, d, dir, "gs://benchmarks/a rejected the credentials (")
	t.Setenv("GS_SECRET_ACCESS_KEY", servers.Secret)
	send(t, d, dir, 5)
	same(t, dir, filepath.Join(server.Dir, "benchmarks", "a", "run"))
	b, err := d.open(t.Context(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	there, err := b.objects(t.Context(), "a/run/")
	if o := there["history.jsonl.zst"]; err != nil || o.size != 20<<20 || o.md5 == "" {
		t.Errorf("the large object is %+v, %v", o, err)
	}
	send(t, d, dir, 0)
	if at, err := parse(t, "gs://benchmarks").server(); err != nil || at.String() != "https://storage.googleapis.com" {
		t.Errorf("without an endpoint, the server is %v, %v", at, err)
	}
}

// TestS3Environment checks that the upload reads the credentials and the address of the server from
// the same environment variables as other programs.
func TestS3Environment(t *testing.T) {
	server := servers.StartS3(t, "us-east-1")
	server.Bucket(t, "benchmarks")
	environment(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_ENDPOINT_URL", server.Endpoint)
	files := t.TempDir()
	put(t, files, "credentials", "[bench]\naws_access_key_id = "+servers.Access+"\naws_secret_access_key = "+servers.Secret+
		"\n[half]\naws_access_key_id = x\n[process]\ncredential_process = cat "+filepath.Join(files, "keys")+"\n")
	put(t, files, "keys", `{"Version":1,"AccessKeyId":"`+servers.Access+`","SecretAccessKey":"`+servers.Secret+`"}`)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(files, "credentials"))
	for _, profile := range []string{"bench", "process"} {
		if err := parse(t, "s3://benchmarks?profile="+profile).Check(t.Context()); err != nil {
			t.Errorf("%s: %v", profile, err)
		}
	}
	d := parse(t, "s3://benchmarks")
	const none = "no credentials were found for s3://benchmarks: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	sentence(t, d.Check(t.Context()), none)
	t.Setenv("AWS_PROFILE", "half")
	sentence(t, d.Check(t.Context()), none+" (profile has partial static credentials")
	t.Setenv("AWS_PROFILE", "bench")
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://none.invalid")
	sentence(t, d.Check(t.Context()), "the host none.invalid does not exist")
	t.Setenv("AWS_ENDPOINT_URL_S3", "none")
	sentence(t, d.Check(t.Context()), "AWS_ENDPOINT_URL must consist of http:// or https://")
}

// TestS3TriesAgain checks that a request that fails half-way is repeated, and that the new attempt
// sends the file from the start.
func TestS3TriesAgain(t *testing.T) {
	server := servers.StartS3(t, "us-east-1")
	server.Bucket(t, "benchmarks")
	environment(t)
	to, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to) // this proxy keeps the Host header, which is part of the signature
	var failed sync.Map
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, before := failed.LoadOrStore(r.URL.String(), true); r.Method == http.MethodPut && !before {
			_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2) // does not read the rest of the request
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	dir := aRun(t, "run", 2, 12<<20)
	send(t, parse(t, "s3://benchmarks?endpoint="+proxy.URL), dir, 7)
	same(t, dir, filepath.Join(server.Dir, "benchmarks", "run"))
}
