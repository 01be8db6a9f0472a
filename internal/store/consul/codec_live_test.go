package consul

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/store/storetest"
)

// everyByte lets keys have characters that do not print.
func everyByte(c tree) { c["disable_http_unprintable_char_filter"] = true }

func awkwardKeys() (keys []string) {
	for i := range 256 {
		if i != '/' && i != ' ' {
			keys = append(keys, "k"+string([]byte{byte(i)}))
		}
	}
	return append(keys, "a b/c d", "folder/", "100%25", "%41", "a?b=c&d#e;f", "ключ/鍵", `"quoted\"`,
		"+", "*", "...", "a/.b", strings.Repeat("k", 256))
}

func awkwardValues() [][]byte {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return [][]byte{nil, {0}, []byte("v"), []byte("true"), every, message(127), message(2048), message(4096),
		message(65_536), message(70_000), message(500 << 10), message(512 << 10)}
}

func message(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	return b
}

func TestLiveAgreesWithOfficialClient(t *testing.T) {
	l := startLive(t, 1, "", everyByte)
	w := storetest.Dial(t, New(), store.Access{Endpoints: l.Endpoints})
	official := official(t, l.Endpoints[0], "").KV()
	for i, key := range awkwardKeys() {
		agreeOnKey(t, w, official, key, fmt.Appendf(nil, "value %d", i))
	}
	for _, value := range awkwardValues() {
		agreeOnKey(t, w, official, "values", value)
	}
	agreeOnRanges(t, w, official)
	agreeOnTxn(t, w, official)
	indexes(t, l.Endpoints[0])
	liveErrors(t, w)
}

// indexes: a read has the key's index, which the codec wants above 0, and a write
// has none, so that the codec cannot want one.
func indexes(t *testing.T, endpoint string) {
	t.Helper()
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
		_ = response.Body.Close() // what counts are the fields
		if index := response.Header.Get("X-Consul-Index"); response.StatusCode != http.StatusOK || (index != "") != tc.want {
			t.Errorf("%s%s: status %d, index %q, want one: %v", tc.method, tc.query, response.StatusCode, index, tc.want)
		}
	}
}

var levels = []kv.Consistency{kv.Linearizable, kv.Local, kv.Lease}

// agreeOnKey runs every operation of one key through the codec and checks with
// the official client, and the other way round.
func agreeOnKey(t *testing.T, w *storetest.Wire, official *api.KV, key string, value []byte) {
	t.Helper()
	k := []byte(key)
	theirs := func() (value []byte, index int64) {
		t.Helper()
		p, _, err := official.Get(key, nil)
		if err != nil {
			t.Fatalf("key %.40q: %v", key, err)
		}
		if p == nil {
			return nil, 0
		}
		return p.Value, int64(p.ModifyIndex)
	}
	same := func(want []byte) int64 {
		t.Helper()
		v, index := theirs()
		if index == 0 || !bytes.Equal(v, want) {
			t.Fatalf("key %.40q: the official client reads %d bytes %.40q at %d, want %d", key, len(v), v, index, len(want))
		}
		for _, level := range levels {
			e := w.Want(kv.OK, store.Op{Kind: kv.Get, Key: k, Consistency: level})
			if !bytes.Equal(e.Value, want) || e.Revision != index || e.Count != 1 {
				t.Fatalf("key %.40q: %v read %d bytes at %d, want %d at %d", key, level, len(e.Value), e.Revision, len(want), index)
			}
		}
		return index
	}

	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: k, Value: value})
	old := same(value)
	other := append([]byte{'x'}, value[:max(0, len(value)-1)]...)
	if _, err := official.Put(&api.KVPair{Key: key, Value: other}, nil); err != nil {
		t.Fatal(err)
	}
	index := same(other)
	w.Want(kv.OK, store.Op{Kind: kv.Range, Key: k, Range: &store.RangeOp{}})

	if e := w.Want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Value: value, Revision: old}); e.Revision != unknown || e.Extra != 0 {
		t.Fatalf("conflict %+v", e)
	}
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: value, Revision: index})
	same(value)
	if e := w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: other, Revision: unknown}); e.Extra != 1 {
		t.Fatalf("a compare-and-set that read first took %d requests more", e.Extra)
	}
	same(other)

	w.Want(kv.OK, store.Op{Kind: kv.Delete, Key: k})
	if _, index := theirs(); index != 0 {
		t.Fatal("the official client reads a deleted key")
	}
	w.Want(kv.OK, store.Op{Kind: kv.Delete, Key: k})
	for _, level := range levels {
		w.Want(kv.Miss, store.Op{Kind: kv.Get, Key: k, Consistency: level})
	}
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: value}) // 0: create
	w.Want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Value: value})
	same(value)
	if _, err := official.Delete(key, nil); err != nil {
		t.Fatal(err)
	}
	w.Want(kv.Miss, store.Op{Kind: kv.Get, Key: k})
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: value, Revision: unknown})
	same(value)
	w.Want(kv.OK, store.Op{Kind: kv.Delete, Key: k})
}

func agreeOnRanges(t *testing.T, w *storetest.Wire, official *api.KV) {
	t.Helper()
	for i := range 300 {
		w.Want(kv.OK, store.Op{Kind: kv.Put, Key: fmt.Appendf(nil, "range/%03d", i), Value: message(1000)})
	}
	pairs, _, err := official.List("range/", nil)
	if err != nil || len(pairs) != 300 {
		t.Fatalf("the official client lists %d keys: %v", len(pairs), err)
	}
	for _, tc := range []struct {
		key, end    string
		limit, want int64
		first       int
	}{
		{"range/", "range0", 0, 300, 0}, {"range/100", "range/200", 0, 100, 100}, {"range/", "range0", 128, 128, 0},
		{"range/", "\x00", 1, 1, 0}, {"none", "nonf", 0, 0, -1}, {"range/299", "range/299\x00", 0, 1, 299},
		{"/range/", "/range0", 0, 300, 0},
	} {
		for _, level := range levels {
			e := w.Want(kv.OK, store.Op{Kind: kv.Range, Key: []byte(tc.key), Consistency: level, Range: &store.RangeOp{End: []byte(tc.end), Limit: tc.limit}})
			if e.Count != tc.want {
				t.Errorf("%q to %q: %d keys, want %d", tc.key, tc.end, e.Count, tc.want)
			}
			slash := tc.key[:len(tc.key)-len(httpkv.Bare([]byte(tc.key)))] // a key comes as it was spelt
			if tc.first >= 0 && (string(e.Key) != slash+pairs[tc.first].Key || !bytes.Equal(e.Value, pairs[tc.first].Value) ||
				e.Revision != int64(pairs[tc.first].ModifyIndex)) {
				t.Errorf("%q to %q: first key %q, want %q", tc.key, tc.end, e.Key, pairs[tc.first].Key)
			}
		}
	}
}

func agreeOnTxn(t *testing.T, w *storetest.Wire, official *api.KV) {
	t.Helper()
	var pairs []store.Pair
	for i := range 64 {
		pairs = append(pairs, store.Pair{Key: fmt.Appendf(nil, "txn/\"ключ\"\\\x01\n%d", i), Value: message(i * 40)})
	}
	e := w.Want(kv.OK, store.Op{Kind: kv.Txn, Pairs: pairs})
	if e.Count != 64 || e.Revision <= 0 {
		t.Errorf("transaction %+v", e)
	}
	for _, p := range pairs {
		got, _, err := official.Get(string(p.Key), nil)
		if err != nil || got == nil || !bytes.Equal(got.Value, p.Value) || int64(got.ModifyIndex) != e.Revision {
			t.Fatalf("%q: the official client reads %+v: %v", p.Key, got, err)
		}
	}
	for len(pairs) < 129 {
		pairs = append(pairs, pairs[0])
	}
	if e := w.Want(kv.BadRequest, store.Op{Kind: kv.Txn, Pairs: pairs}); !strings.Contains(string(e.Text), "too many operations") {
		t.Errorf("text %q", e.Text)
	}
}

func liveErrors(t *testing.T, w *storetest.Wire) {
	t.Helper()
	for _, tc := range []struct {
		op   store.Op
		text string
	}{
		{store.Op{Kind: kv.Put, Value: []byte("v")}, "Missing key name"},
		{store.Op{Kind: kv.Put, Key: []byte("a//b")}, "redirects"},
		{store.Op{Kind: kv.Put, Key: []byte("a/../b")}, "redirects"},
		{store.Op{Kind: kv.Put, Key: []byte(" k ")}, "spaces"},
		{store.Op{Kind: kv.Put, Key: []byte("%2e%2e")}, "path traversal"},
	} {
		if e := w.Want(kv.BadRequest, tc.op); !strings.Contains(string(e.Text), tc.text) {
			t.Errorf("text %q, want %q", e.Text, tc.text)
		}
	}
	// Too large: Consul answers before it has read it, and closes.
	w = storetest.Dial(t, New(), store.Access{Endpoints: []string{w.Conn.RemoteAddr().String()}})
	e := w.Want(kv.BadRequest, store.Op{Kind: kv.Put, Key: []byte("k"), Value: message(512<<10 + 1)})
	if !strings.Contains(string(e.Text), "too large") {
		t.Errorf("text %q", e.Text)
	}
}
