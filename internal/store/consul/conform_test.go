package consul

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/certs"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func TestConform(t *testing.T) { storetest.Conform(t, fixture()) }

func fixture() storetest.Fixture {
	var tooMany []store.Pair
	for range 129 {
		tooMany = append(tooMany, store.Pair{Key: []byte("txn")})
	}
	return storetest.Fixture{
		Store: New(), Start: start, Official: view, Slash: true,
		Keys: awkwardKeys(), Values: append(storetest.Values(127, 2048, 4096, 65_536, 70_000, 500<<10, 512<<10), []byte("true"), storetest.EveryByte()),
		Refused: []storetest.Refusal{
			{Op: storetest.Put("", []byte("v")), Outcome: kv.BadRequest, Text: "Missing key name"},
			{Op: storetest.Put("a//b", []byte("v")), Outcome: kv.BadRequest, Text: "redirected"},
			{Op: storetest.Put("a/../b", []byte("v")), Outcome: kv.BadRequest, Text: "redirected"},
			{Op: storetest.Put(" k ", []byte("v")), Outcome: kv.BadRequest, Text: "spaces"},
			{Op: storetest.Put("%2e%2e", []byte("v")), Outcome: kv.BadRequest, Text: "path traversal"},
			{Op: storetest.Txn(tooMany...), Outcome: kv.BadRequest, Text: "too many operations"},
		},
		// Consul responds before it has read the whole request, and then closes the connection.
		TooLarge: storetest.Refusal{Op: storetest.Put("k", storetest.Bytes(512<<10+1)), Outcome: kv.BadRequest, Text: "too large"},
	}
}

func awkwardKeys() []string {
	return append(storetest.KeysOfBytes("k", "/ "), "a b/c d", "folder/", "100%25", "%41", "a?b=c&d#e;f", "ключ/鍵", `"quoted\"`,
		"+", "*", "...", "a/.b", strings.Repeat("k", 256))
}

func view(t testing.TB, a store.Access) storetest.Client {
	return official.ConsulView{KV: official.Consul(t, a).KV()}
}

// start starts a real cluster that accepts keys with unprintable characters.
func start(t *testing.T, o storetest.Options) *storetest.Server {
	t.Helper()
	const token = "6e756c6c-1111-2222-3333-444444444444"
	s := &storetest.Server{}
	if o.User {
		s.Access.User, s.Access.Password = "u", token
	}
	change := func(c map[string]any) {
		c["disable_http_unprintable_char_filter"] = true
		if o.User {
			c["acl"] = tree{"enabled": true, "default_policy": "deny", "tokens": tree{"initial_management": token}}
		}
	}
	if o.TLS {
		cert, key, client := certs.ServerFiles(t, t.TempDir())
		s.Access.TLS = client
		other := change
		change = func(c map[string]any) {
			other(c)
			ports := c["ports"].(map[string]any)
			ports["https"], ports["http"] = ports["http"], -1
			c["tls"] = tree{"https": tree{"cert_file": cert, "key_file": key}}
		}
	}
	l := servers.Start(t, New(), servers.Cluster{
		Exec: servers.InstalledServer(t, New()), Members: o.Members, Settings: &Settings{LogLevel: "warn"},
		Change: func(p *store.Process) {
			for path, contents := range p.Files {
				p.Files[path] = changed(t, contents, change)
			}
		},
		Ready: func(ctx context.Context, endpoint string) error {
			a := s.Access
			a.Endpoints = []string{endpoint}
			_, err := official.Consul(t, a).KV().Put(&api.KVPair{Key: "ready"}, (&api.WriteOptions{}).WithContext(ctx))
			return err
		},
	})
	s.Access.Endpoints, s.Kill = l.Endpoints, l.Kill(t)
	s.Denied = []store.Access{{Endpoints: l.Endpoints}, {Endpoints: l.Endpoints, Password: "wrong\r\n"}}
	return s
}

func changed(t testing.TB, config []byte, change func(map[string]any)) []byte {
	t.Helper()
	var c map[string]any
	if err := json.Unmarshal(config, &c); err != nil {
		t.Fatal(err)
	}
	change(c)
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLiveToken checks that the token suffices without a user, and that transactions without a
// token are denied.
func TestLiveToken(t *testing.T) {
	s := start(t, storetest.Options{User: true})
	alone := store.Access{Endpoints: s.Access.Endpoints, User: s.Access.Password}
	storetest.Dial(t, New(), alone).Want(kv.OK, storetest.Put("k", []byte("v")))
	for _, a := range s.Denied {
		storetest.Dial(t, New(), a).Want(kv.Denied, storetest.Txn(store.Pair{Key: []byte("k")}))
	}
}

// TestLiveIndexes checks that a read returns the key's index, because the codec requires it to be
// above 0. It also checks that a write returns no index. If a write returned an index, the codec
// could require it.
func TestLiveIndexes(t *testing.T) {
	endpoint := start(t, storetest.Options{}).Access.Endpoints[0]
	for _, tc := range []struct {
		method, query string
		want          bool
	}{{http.MethodPut, "", false}, {http.MethodPut, "?cas=0", false}, {http.MethodGet, "?raw", true}, {http.MethodDelete, "", false}} {
		request, err := http.NewRequestWithContext(t.Context(), tc.method, "http://"+endpoint+"/v1/kv/indexes"+tc.query, strings.NewReader("v"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only the header fields are needed
		if index := response.Header.Get("X-Consul-Index"); response.StatusCode != http.StatusOK || (index != "") != tc.want {
			t.Errorf("%s%s: status %d, index %q, expected an index: %v", tc.method, tc.query, response.StatusCode, index, tc.want)
		}
	}
}
