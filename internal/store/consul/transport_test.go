package consul

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
)

// TestEnvironmentIsNotSent checks that the client sends no token, user or namespace from the
// environment.
func TestEnvironmentIsNotSent(t *testing.T) {
	for name, value := range map[string]string{
		"CONSUL_HTTP_TOKEN": "secret", "CONSUL_HTTP_AUTH": "root:secret", "CONSUL_NAMESPACE": "secret", "CONSUL_PARTITION": "secret",
		"CONSUL_HTTP_ADDR": "secret.invalid:1", "HTTP_PROXY": "http://secret.invalid:1", "CONSUL_HTTP_SSL": "true",
	} {
		t.Setenv(name, value)
	}
	for _, tokenFile := range []string{"", "/dev/full"} {
		if tokenFile != "" {
			t.Setenv("CONSUL_HTTP_TOKEN_FILE", tokenFile)
		}
		for _, given := range []string{"", "ours"} {
			var mu sync.Mutex
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked++
				if got := r.Header.Get("X-Consul-Token"); got != given {
					t.Errorf("the token is %q, want %q", got, given)
				}
				if r.Header.Get("Authorization") != "" || strings.Contains(r.URL.String(), "secret") || strings.Contains(r.Host, "secret") {
					t.Errorf("%s %s with %q", r.Method, r.URL, r.Header)
				}
				http.Error(w, "no", http.StatusForbidden)
			}))
			admin, err := New().Admin(store.Access{Endpoints: []string{server.Listener.Addr().String()}, Password: given})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = admin.Status(context.Background()) // the server refuses it
			_ = admin.Close()
			server.Close()
			mu.Lock()
			if asked == 0 {
				t.Error("the server received no request")
			}
			mu.Unlock()
		}
	}
}
