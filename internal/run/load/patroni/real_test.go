package patroni_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	data "github.com/quorumbench/quorumbench/internal/application/patroni"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/etcdgateway"
	"github.com/quorumbench/quorumbench/internal/testservers/embedded"
	"github.com/quorumbench/quorumbench/internal/testservers/patroni"
)

// heard is a request that passed.
type heard struct {
	at   time.Time
	call string // such as "put member"
	form string // which members its JSON has, and that of the value it writes
}

// listener passes requests on to an etcd, and keeps what they were.
type listener struct {
	mu  sync.Mutex
	all []heard
}

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
		l.mu.Lock()
		l.all = append(l.all, h)
		l.mu.Unlock()
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
		var v map[string]any
		if json.Unmarshal(value, &v) == nil {
			delete(v, "slots") // of which there are as many as members
			h.form += " of " + form(v)
		}
	}
}

// form is the names of an object's members.
func form(m map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), " ")
}

// loop is what is sent in one loop of a cluster.
type loop map[string]int

// loops are those that a leader began by renewing its lease, before it put the status.
func (l *listener) loops() (all []loop, forms map[string]map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	forms = map[string]map[string]bool{}
	var at []int // where they begin: at the renewal before each status
	for i, h := range l.all {
		if h.call != "put status" {
			continue
		}
		for k := i - 1; k >= 0; k-- {
			if l.all[k].call == "renew" {
				at = append(at, k)
				break
			}
		}
	}
	for i := 0; i+1 < len(at); i++ {
		one := loop{}
		for _, h := range l.all[at[i]:at[i+1]] {
			one[h.call]++
			if forms[h.call] == nil {
				forms[h.call] = map[string]bool{}
			}
			forms[h.call][h.form] = true
		}
		all = append(all, one)
	}
	return all, forms
}

// usual is the loop that is the most frequent.
func usual(all []loop) (most loop, times int) {
	n := map[string]int{}
	for _, l := range all {
		key := fmt.Sprint(l)
		if n[key]++; n[key] > times {
			most, times = l, n[key]
		}
	}
	return most, times
}

// TestCallsPerLoopAreThoseOfARealPatroni compares what two real Patroni members with a
// PostgreSQL each send to a real etcd, while their database is written to, with what our load of one
// such cluster sends to it: how many of which call in each loop, and how each is written.
func TestCallsPerLoopAreThoseOfARealPatroni(t *testing.T) {
	const loopWait, enough = 2 * time.Second, 6
	c := data.Config{Clusters: 1, Members: 2, Written: 1, LoopWait: loopWait, TTL: 20 * time.Second, RetryTime: 3 * time.Second, Seed: 3}
	var theirs, ours listener
	etcd := embedded.Etcd(t)
	cluster := patroni.Start(t, patroni.Config{Etcd: theirs.listen(t, etcd), Members: c.Members, LoopWait: loopWait, RetryTimeout: c.RetryTime, TTL: c.TTL})
	wait(t, "two members that run", func() bool {
		theirs.mu.Lock()
		defer theirs.mu.Unlock()
		return slices.ContainsFunc(theirs.all, func(h heard) bool { return strings.Contains(h.form, "replication_state") })
	})
	cluster.Write(t)
	theirs.mu.Lock()
	theirs.all = nil
	theirs.mu.Unlock()
	var real loop
	wait(t, "loops that are alike", func() bool {
		all, _ := theirs.loops()
		var times int
		real, times = usual(all)
		return times >= enough
	})
	res := send(t, etcdgateway.New(), ours.listen(t, etcd), c, 10*loopWait)
	if res.Measured.Outcomes[kv.OK] != res.Measured.Due {
		t.Errorf("our load failed: %v", res.Measured.ErrorTexts)
	}
	all, forms := ours.loops()
	mine, times := usual(all)
	if d := cmp.Diff(real, mine); d != "" || times < enough {
		t.Errorf("in a loop, which ours was %d times (-Patroni +ours): %s", times, d)
	}
	_, real1 := theirs.loops()
	for call, of := range forms {
		for f := range of {
			if !real1[call][f] {
				t.Errorf("our %q has %q, and Patroni's %v", call, f, real1[call])
			}
		}
	}
	t.Logf("in each loop of a cluster of %d: %v", c.Members, real)
}

// wait asks until it is so, or the test's time has run out.
func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	end := time.After(3 * time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("there are no %s", what)
		}
	}
}
