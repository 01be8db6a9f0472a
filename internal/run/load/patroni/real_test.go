package patroni_test

import (
	"bytes"
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

	data "github.com/quorumbench/quorumbench/internal/application/patroni"
	"github.com/quorumbench/quorumbench/internal/store/etcdgateway"
	"github.com/quorumbench/quorumbench/internal/testservers/embedded"
	"github.com/quorumbench/quorumbench/internal/testservers/patroni"
)

// listener passes requests on to an etcd, and keeps what they were.
type listener struct{ calls }

// listen is before an etcd until the test ends; it returns its own HOST:PORT.
func (l *listener) listen(t *testing.T, etcd string) string {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: etcd})
	proxy.FlushInterval = -1                    // watchers' answers have no end
	proxy.ErrorLog = log.New(io.Discard, "", 0) // clients end their requests
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		h := heard{time.Now(), r.URL.Path, ""}
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
		key, _ := base64.StdEncoding.DecodeString(fmt.Sprint(m["key"]))
		value, _ := base64.StdEncoding.DecodeString(fmt.Sprint(m["value"]))
		parts := strings.Split(string(key), "/")
		if h.call = "put " + parts[len(parts)-1]; strings.Contains(string(key), "/members/") {
			h.call = "put member"
		}
		h.form += formOf(value)
	}
}

// TestCallsPerLoopAreThoseOfARealPatroni compares what two real Patroni members with a
// PostgreSQL each send to a real etcd, while their database is written to, with what our load of one
// such cluster sends to it: how many of which call in each loop, and how each is written.
func TestCallsPerLoopAreThoseOfARealPatroni(t *testing.T) {
	const loopWait = 2 * time.Second
	c := data.Config{Clusters: 1, Members: 2, Written: 1, LoopWait: loopWait, TTL: 20 * time.Second, RetryTime: 3 * time.Second, Seed: 3}
	var theirs, ours listener
	etcd := embedded.Etcd(t)
	alike(t, &c, etcdgateway.New(), patroni.Config{Etcd: theirs.listen(t, etcd)}, ours.listen(t, etcd), &theirs.calls, &ours.calls)
}
