package httpkv

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
)

func get(t *testing.T, url string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Consul-Token", "secret")
	r.SetBasicAuth("u", "secret")
	c := Client(store.Access{})
	defer c.CloseIdleConnections()
	answer, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	return string(b), err
}

// TestSecretsStayWithTheirServer checks that the client does not follow a redirect to another
// server, which would receive the token.
func TestSecretsStayWithTheirServer(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/agent/self", status))
		if _, err := get(t, server.URL); err == nil || !strings.Contains(err.Error(), "redirects to another server") {
			t.Errorf("%d: %v", status, err)
		}
		server.Close()
	}
	if asked != 0 {
		t.Errorf("the other server received %d requests", asked)
	}
}

func TestRedirectsAtOneServer(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/a", http.RedirectHandler("/b", http.StatusFound))
	mux.HandleFunc("/b", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	server := httptest.NewServer(mux)
	defer server.Close()
	if text, err := get(t, server.URL+"/a"); text != "here" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := get(t, server.URL+"/round"); err == nil || !strings.Contains(err.Error(), "repeatedly") {
		t.Error(err)
	}
}

// TestAnswersAreBounded checks that the size of responses is limited, regardless of the length
// that they announce and of their encoding.
func TestAnswersAreBounded(t *testing.T) {
	var small bytes.Buffer
	bomb := gzip.NewWriter(&small)
	zeros := make([]byte, 1<<20)
	for range MaxResponse>>20 + 1 {
		_, _ = bomb.Write(zeros)
	}
	_ = bomb.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/announced", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999999") })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for range 8 {
			if _, err := w.Write(zeros); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/whole", func(w http.ResponseWriter, _ *http.Request) {
		for range MaxResponse >> 20 {
			_, _ = w.Write(zeros)
		}
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(small.Bytes())
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2*MaxHeader))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, path := range []string{"/announced", "/endless"} {
		if b, err := get(t, server.URL+path); err == nil || !strings.Contains(err.Error(), "longer than the limit of 4194304 bytes") {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
	}
	if b, err := get(t, server.URL+"/whole"); len(b) != MaxResponse || err != nil {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if b, err := get(t, server.URL+"/gzip"); len(b) != small.Len() || err != nil {
		t.Errorf("got %d bytes of a compressed response of %d bytes, %v", len(b), small.Len(), err)
	}
	if _, err := get(t, server.URL+"/header"); err == nil {
		t.Error("an endless header was accepted")
	}
}

// TestTooManyRequestsIsRepeated checks that the client sends a request again, with its body, if
// the server refused it because of too many requests.
func TestTooManyRequestsIsRepeated(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) != "one" {
			t.Errorf("the body is %q", body)
		}
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	c := Client(store.Access{})
	defer c.CloseIdleConnections()
	answer, err := c.Post(server.URL, "", strings.NewReader("one"))
	if err != nil || answer.StatusCode != http.StatusOK || asked.Load() != 3 {
		t.Errorf("the response is %v, %v after %d requests, want 3 requests", answer, err, asked.Load())
	}
	if err == nil {
		_ = answer.Body.Close()
	}
}
