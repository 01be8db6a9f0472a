package etcdv2

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/certs"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func TestConform(t *testing.T) { storetest.Conform(t, fixture()) }

func fixture() storetest.Fixture {
	return storetest.Fixture{
		Store: New(), Start: start, Official: view, Slash: true, Terms: true,
		Keys: awkwardKeys(), Values: awkwardValues(),
		RangeKey: func(i int) string { return fmt.Sprintf("ranges/%d/%03d", i/100, i) },
		Refused: []storetest.Refusal{
			{Op: storetest.Put("ranges", []byte("v")), Outcome: kv.BadRequest, Text: "Not a file: /ranges"},
			{Op: storetest.Get("ranges", kv.Local), Outcome: kv.BadRequest, Text: "the key is a folder"},
			{Op: storetest.Delete("ranges"), Outcome: kv.BadRequest, Text: "Not a file: /ranges"},
			{Op: storetest.Put("", []byte("v")), Outcome: kv.BadRequest, Text: "Root is read only"},
		},
	}
}

// awkwardKeys returns unusual keys. All of them are valid UTF-8, because the v2 API's JSON cannot
// represent other keys. In CI, they contain only some of the 256 characters.
func awkwardKeys() (keys []string) {
	for r := range rune(256) {
		if r != '/' && (settle.Long() || storetest.SpecialByte(byte(r))) {
			keys = append(keys, "k"+string(r))
		}
	}
	return append(keys, "a b/c d", "100%25", "%41", "%2e%2e", "a?b=c&d#e;f", "ключ/鍵", `"quoted\"`,
		"/with/slash", "+", "*", "...", "a/.b", strings.Repeat("k", 256))
}

func awkwardValues() (values [][]byte) {
	every := ""
	for r := range rune(300) {
		every += string(r)
	}
	for _, v := range []string{"", "\x00", "v", "a=b&c=d+e%20", "<>&\u2028\u2029", every, "😀\"\\\n", quotedText(127), quotedText(2048), quotedText(4096),
		quotedText(70_000), quotedText(500 << 10), quotedText(1 << 20)} {
		values = append(values, []byte(v))
	}
	return values
}

func quotedText(n int) string {
	return strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz-_", n/38+1)[:n]
}

// api is a client for the v2 API. It uses net/http and encoding/json, because etcd no longer
// has a client for this API.
type api struct {
	base string
	http *http.Client
	user *url.Userinfo
}

func view(t testing.TB, a store.Access) storetest.Client { return client(t, a) }

func client(t testing.TB, a store.Access) *api {
	c := &api{base: "http://" + a.Endpoints[0], http: http.DefaultClient}
	if a.User != "" {
		c.user = url.UserPassword(a.User, a.Password)
	}
	if a.TLS != nil {
		transport := &http.Transport{TLSClientConfig: a.TLS}
		t.Cleanup(transport.CloseIdleConnections)
		c.base, c.http = "https://"+a.Endpoints[0], &http.Client{Transport: transport}
	}
	return c
}

// apiAnswer is a response from the v2 API.
type apiAnswer struct {
	ErrorCode int
	Message   string
	Node      *struct {
		Value         string
		ModifiedIndex int64
	}
}

// ask sends a request. The parameter `path` is the URL's path without the prefix /v2.
func (c *api) ask(ctx context.Context, method, path, contentType, body string) (*apiAnswer, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+"/v2"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if c.user != nil {
		password, _ := c.user.Password()
		request.SetBasicAuth(c.user.Username(), password)
	}
	r, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	a := &apiAnswer{}
	return a, json.NewDecoder(r.Body).Decode(a)
}

// key sends a request about one key.
func (c *api) key(ctx context.Context, method, key, form string) (*apiAnswer, error) {
	path := "/" + (&url.URL{Path: strings.TrimPrefix(key, "/")}).EscapedPath()
	// The package net/url adds ./ to a path that contains a colon.
	path = strings.Replace(path, "/./", "/", 1)
	a, err := c.ask(ctx, method, "/keys"+path, "application/x-www-form-urlencoded", form)
	if err == nil && a.ErrorCode != 0 && a.ErrorCode != keyNotFound {
		err = errors.New(a.Message)
	}
	return a, err
}

func (c *api) Get(key string) ([]byte, int64, error) {
	a, err := c.key(context.Background(), http.MethodGet, key, "")
	if err != nil || a.Node == nil {
		return nil, 0, err
	}
	return []byte(a.Node.Value), a.Node.ModifiedIndex, nil
}

func (c *api) Put(key string, value []byte) error {
	_, err := c.key(context.Background(), http.MethodPut, key, url.Values{"value": {string(value)}}.Encode())
	return err
}

func (c *api) Delete(key string) error {
	_, err := c.key(context.Background(), http.MethodDelete, key, "")
	return err
}

// start starts a cluster of real etcd servers.
func start(t *testing.T, o storetest.Options) *storetest.Server {
	t.Helper()
	s := &storetest.Server{}
	change := func(*store.Process) {}
	if o.TLS {
		cert, key, trusts := certs.ServerFiles(t, t.TempDir())
		s.Access.TLS = trusts
		change = func(p *store.Process) {
			for i, arg := range p.Args {
				if strings.Contains(arg, "client-urls=") {
					p.Args[i] = strings.Replace(arg, "http://", "https://", 1)
				}
			}
			p.Args = append(p.Args, "--cert-file="+cert, "--key-file="+key)
		}
	}
	l := servers.Start(t, New(), servers.Cluster{
		Exec: servers.InstalledServer(t, New()), Members: o.Members, Settings: &Settings{UnsafeNoFsync: true}, Change: change,
		Ready: func(ctx context.Context, endpoint string) error {
			_, err := client(t, store.Access{Endpoints: []string{endpoint}, TLS: s.Access.TLS}).key(ctx, http.MethodPut, "ready", "value=1")
			return err
		},
	})
	s.Access.Endpoints, s.Kill = l.Endpoints, l.Kill(t)
	if o.User {
		c := client(t, s.Access)
		for _, of := range []struct{ path, body string }{
			{"/auth/users/root", `{"user":"root","password":"secret"}`}, {"/auth/enable", ""},
		} {
			// The response to the request that enables authentication has no body.
			if a, err := c.ask(t.Context(), http.MethodPut, of.path, "application/json", of.body); of.body != "" && (err != nil || a.Message != "") {
				t.Fatalf("%s: %+v %v", of.path, a, err)
			}
		}
		s.Denied = []store.Access{{Endpoints: l.Endpoints, User: "root", Password: "wrong"}}
		s.Access.User, s.Access.Password = "root", "secret"
	}
	return s
}

// TestLiveCleanedKeys checks that etcd simplifies a key like a file path, and that a read returns
// the simplified key.
func TestLiveCleanedKeys(t *testing.T) {
	w := storetest.Dial(t, New(), start(t, storetest.Options{}).Access)
	w.Want(kv.OK, storetest.Put("a//b/../c", []byte("v")))
	if e := w.Want(kv.OK, storetest.Get("a//b/../c", kv.Linearizable)); string(e.Key) != "a/c" {
		t.Errorf("key %q", e.Key)
	}
}
