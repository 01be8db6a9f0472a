package patroni_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	data "github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/store/etcdgateway"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
)

// listener passes requests on to an etcd, and keeps what they were, and who made them: it
// says so itself, or the connection.
type listener struct {
	*calls
	who string
}

// listen is before an etcd until the test ends; it returns its own HOST:PORT.
func (l *listener) listen(t *testing.T, etcd string) string {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: etcd})
	proxy.FlushInterval = -1                    // watchers' answers have no end
	proxy.ErrorLog = log.New(io.Discard, "", 0) // clients end their requests
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		h := heard{at: time.Now(), who: cmp.Or(l.who, r.RemoteAddr), call: r.URL.Path}
		h.understand(body)
		l.add(h)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.CloseClientConnections)
	return strings.TrimPrefix(s.URL, "http://")
}

// understand says what a request does, and how it is said.
func (h *heard) understand(body []byte) {
	var m map[string]any
	if json.Unmarshal(body, &m) != nil {
		return
	}
	h.form = form(m)
	switch h.call {
	case "/v3/lease/keepalive":
		h.call = "renew"
	case "/v3/kv/put":
		h.put("put ", m)
	case "/v3/kv/range":
		h.call = "read " + nameOf(m)
		h.form += fmt.Sprintf(", serializable %v", m["serializable"])
	case "/v3/watch":
		create, _ := m["create_request"].(map[string]any)
		h.call, h.form = "watch "+nameOf(create), h.form+": "+form(create)
	case "/v3/kv/txn":
		h.txn(m)
	}
}

// put understands what writes a key.
func (h *heard) put(call string, m map[string]any) {
	value, _ := base64.StdEncoding.DecodeString(fmt.Sprint(m["value"]))
	h.call = call + nameOf(m)
	h.form += formOf(value)
}

// txn understands a transaction: its guards, and what it does if they hold.
func (h *heard) txn(m map[string]any) {
	for _, one := range list(m["compare"]) {
		guarded := nameOf(one)
		delete(one, "key")
		h.form += fmt.Sprintf(", if of %s %v", guarded, one)
	}
	for _, one := range list(m["success"]) {
		put, _ := one["request_put"].(map[string]any)
		h.form += ", then " + form(one) + " " + form(put)
		h.put("txn ", put)
	}
}

// list is what is in an array of objects.
func list(v any) (all []map[string]any) {
	of, _ := v.([]any)
	for _, one := range of {
		if m, ok := one.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// nameOf is which of a cluster's keys an object is of.
func nameOf(m map[string]any) string {
	key, _ := base64.StdEncoding.DecodeString(fmt.Sprint(m["key"]))
	_, interval := m["range_end"]
	parts := strings.Split(strings.TrimPrefix(string(key), prefix), "/")
	switch {
	case interval:
		return "cluster"
	case len(parts) > 2:
		return "member"
	}
	return parts[len(parts)-1]
}

// TestCallsPerLoopAreThoseOfARealPatroni compares what two real Patroni members with a
// PostgreSQL each send to a real etcd, while their database is written to, with what our load of one
// such cluster sends to it: how many of which call in each loop, and how each is written.
func TestCallsPerLoopAreThoseOfARealPatroni(t *testing.T) {
	const loopWait = 2 * time.Second
	c := data.Config{Clusters: 1, Members: 2, Written: 1, LoopWait: loopWait, TTL: 20 * time.Second, RetryTime: 3 * time.Second, Seed: 3}
	theirs, ours := listener{calls: new(calls)}, listener{calls: new(calls)}
	etcd := embedded.Etcd(t)
	alike(t, &c, etcdgateway.New(), servers.PatroniConfig{Etcd: []string{theirs.listen(t, etcd)}}, ours.listen(t, etcd), theirs.calls, ours.calls)
}
