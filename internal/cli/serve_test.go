package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/certs"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

// startServe starts `serve` with arguments, and returns the URL that it prints.
func startServe(t *testing.T, args ...string) (url string, stop func() error) {
	t.Helper()
	c := exec.Command("quorumbench", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	c.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir()) // for the index file
	line, err := startCommand(t.TempDir(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has usually stopped
	url, _, _ = strings.Cut(line, " ")
	return url, func() error { return interrupt(c) }
}

// get returns the response to a request with an optional token.
func get(t *testing.T, client *http.Client, url, token string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

// SIGINT stops the server immediately, even while a page follows an active run.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs.Run{Name: "first", Seconds: 2, PerSecond: 100}.Record(t, dir)
	url, stop := startServe(t, "--runs", dir)
	status, body := get(t, http.DefaultClient, url+"runs.json", "")
	var list struct {
		Runs []struct{ Name, State string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Runs) != 1 || list.Runs[0].Name != "first" || list.Runs[0].State != "complete" {
		t.Errorf("status %d: %s", status, body)
	}
	active := runs.Run{Name: "second", Seconds: 60, PerSecond: 100}.Start(t, dir)
	active.Begin()
	id, err := filepath.Rel(dir, active.Dir())
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(url + "runs/" + strings.ReplaceAll(id, "/", "%2F") + "/live")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("cannot open the event stream: %v, %+v", err, response)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
}

func TestServeWithTLSAndToken(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), t.TempDir()
	runs.Run{Name: "first", Seconds: 2, PerSecond: 100}.Record(t, dir)
	cert, key, trust := certs.ServerFiles(t, files)
	token := filepath.Join(files, "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, stop := startServe(t, "--runs", dir, "--cert", cert, "--key", key, "--token-file", token)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
	for token, want := range map[string]int{"": 401, "wrong": 401, "0123456789abcdef": 200} {
		if status, body := get(t, client, url+"runs.json", token); status != want || strings.Contains(body, "first") != (want == 200) {
			t.Errorf("token %q: status %d, %s", token, status, body)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
