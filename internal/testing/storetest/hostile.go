package storetest

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// CheckNoSecretsRedirected checks that a client does not follow a redirect to another server,
// because that server would receive the secrets from the access settings. The parameter `field` is
// the name of the request header that contains the secrets.
func CheckNoSecretsRedirected(t *testing.T, st store.Store, field string, access store.Access) {
	t.Helper()
	seen := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Get(field) }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	access.Endpoints, access.DialTimeout = []string{server.Listener.Addr().String()}, 5*time.Second
	a, err := st.Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	if _, err := a.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "redirects to another server") {
		t.Errorf("the status is %v", err)
	}
	if _, err := a.Members(t.Context()); err == nil {
		t.Error("Members accepted a redirect to another server")
	}
	select {
	case secret := <-seen:
		t.Errorf("the other server received a request with %q in the header %s", secret, field)
	default:
	}
}

// maxReceived is the maximum number of bytes of an endless response that a client and the system's
// buffers may receive.
const maxReceived = 32 << 20

// CheckStatusBounded tests status requests. A client must refuse a small response that would become
// huge when it is decompressed, and must stop reading an endless response. The responses are JSON:
// they consist of `begin`, a long text, and `end`.
func CheckStatusBounded(t *testing.T, st store.Store, begin, end string) {
	t.Helper()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write([]byte(begin))
	blank := bytes.Repeat([]byte("x"), 1<<20)
	for range 12 { // clients read at most 4 MiB
		_, _ = z.Write(blank)
	}
	_, _ = z.Write([]byte(end))
	_ = z.Close()
	for what, handler := range map[string]http.HandlerFunc{
		"a bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		},
		"no end": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(begin))
			for sent := 0; ; sent += len(blank) {
				if sent > maxReceived {
					t.Errorf("the client accepted %d MiB of an endless response", sent>>20)
					return
				}
				if _, err := w.Write(blank); err != nil {
					return
				}
			}
		},
	} {
		server := httptest.NewServer(handler)
		a, err := st.Admin(store.Access{Endpoints: []string{server.Listener.Addr().String()}})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := a.Status(t.Context()); err == nil {
			t.Errorf("%s: the client accepted the response, with a version of %d bytes", what, len(s.Version))
		}
		_ = a.Close()
		server.Close()
	}
}
