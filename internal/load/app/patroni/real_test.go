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

// listener is a proxy in front of etcd. It stores each request together with the name of its
// sender. The name is `who` or, if `who` is empty, the connection's address.
type listener struct {
	*calls
	who string
}

// listen runs the proxy until the test ends. It returns the proxy's HOST:PORT.
func (l *listener) listen(t *testing.T, etcd string) string {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: etcd})
	proxy.FlushInterval = -1                    // the responses to watch requests do not end
	proxy.ErrorLog = log.New(io.Discard, "", 0) // clients abort their requests, which would be logged
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		h := observed{at: time.Now(), who: cmp.Or(l.who, r.RemoteAddr), call: r.URL.Path}
		h.understand(body)
		l.add(h)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.CloseClientConnections)
	return strings.TrimPrefix(s.URL, "http://")
}

// understand determines the call and the form of a request.
func (h *observed) understand(body []byte) {
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

// put determines the call and the form of a request that writes a key.
func (h *observed) put(call string, m map[string]any) {
	value, _ := base64.StdEncoding.DecodeString(fmt.Sprint(m["value"]))
	h.call = call + nameOf(m)
	h.form += formOf(value)
}

// txn determines the call and the form of a transaction from its guards and its guarded operations.
func (h *observed) txn(m map[string]any) {
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

// list returns the JSON objects in an array.
func list(v any) (all []map[string]any) {
	of, _ := v.([]any)
	for _, one := range of {
		if m, ok := one.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// nameOf returns the name of the cluster's key that is in a JSON object.
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

// Two real Patroni members run, each with its own PostgreSQL, and the cluster's database is written
// to. In each loop, these members and the load of one such cluster send the same calls to a real
// etcd, in the same form.
func TestCallsPerLoopAreThoseOfARealPatroni(t *testing.T) {
	const loopWait = 2 * time.Second
	c := data.Config{Clusters: 1, Members: 2, WrittenClusters: 1, LoopWait: loopWait, TTL: 20 * time.Second, RetryTimeout: 3 * time.Second, Seed: 3}
	theirs, ours := listener{calls: new(calls)}, listener{calls: new(calls)}
	etcd := embedded.Etcd(t)
	compareLoops(t, &c, etcdgateway.New(), servers.PatroniConfig{Etcd: []string{theirs.listen(t, etcd)}}, ours.listen(t, etcd), theirs.calls, ours.calls)
}
