package etcdv2

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/storetest"
)

// awkwardKeys are UTF-8, which is what the API's JSON can say.
func awkwardKeys() (keys []string) {
	for r := range rune(256) {
		if r != '/' {
			keys = append(keys, "k"+string(r))
		}
	}
	return append(keys, "a b/c d", "100%25", "%41", "%2e%2e", "a?b=c&d#e;f", "ключ/鍵", `"quoted\"`,
		"/with/slash", "+", "*", "...", "a/.b", strings.Repeat("k", 256))
}

func awkwardValues() []string {
	every := ""
	for r := range rune(300) {
		every += string(r)
	}
	return []string{"", "\x00", "v", "a=b&c=d+e%20", "<>&\u2028\u2029", every, "😀\"\\\n", text(127), text(2048), text(4096),
		text(70_000), text(500 << 10), text(1 << 20)}
}

func text(n int) string { return strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz-_", n/38+1)[:n] }

func TestLiveAgreesWithNetHTTP(t *testing.T) {
	l := startLive(t, 1)
	w := storetest.Dial(t, New(), store.Access{Endpoints: l.Endpoints})
	for i, key := range awkwardKeys() {
		agreeOnKey(t, w, key, fmt.Sprintf("value %d", i))
	}
	for _, value := range awkwardValues() {
		agreeOnKey(t, w, "values", value)
	}
	agreeOnRanges(t, w)
	liveErrors(t, w)
}

var levels = []kv.Consistency{kv.Linearizable, kv.Local}

// agreeOnKey runs every operation of one key through the codec and checks with
// net/http, and the other way round.
func agreeOnKey(t *testing.T, w *storetest.Wire, key, value string) {
	t.Helper()
	k := []byte(key)
	path := "/" + (&url.URL{Path: strings.TrimPrefix(key, "/")}).EscapedPath()
	path = strings.Replace(path, "/./", "/", 1) // net/url's guard before a colon
	theirs := func(method, form string) *apiAnswer {
		t.Helper()
		a, err := ask(t.Context(), w.Conn.RemoteAddr().String(), method, path, form)
		if err != nil {
			t.Fatalf("key %.40q: %v", key, err)
		}
		return a
	}
	same := func(want string) int64 {
		t.Helper()
		n := theirs("GET", "").Node
		if n == nil || n.Value != want {
			t.Fatalf("key %.40q: net/http reads %.100v, want %d bytes", key, n, len(want))
		}
		for _, level := range levels {
			e := w.Want(kv.OK, store.Op{Kind: kv.Get, Key: k, Consistency: level})
			if string(e.Value) != want || e.Revision != n.ModifiedIndex || e.Count != 1 || !bytes.Equal(e.Key, k) || e.Term == 0 {
				t.Fatalf("key %.40q: %v read %d bytes at %d, want %d at %d", key, level, len(e.Value), e.Revision, len(want), n.ModifiedIndex)
			}
		}
		return n.ModifiedIndex
	}

	put := w.Want(kv.OK, store.Op{Kind: kv.Put, Key: k, Value: []byte(value)})
	old := same(value)
	if put.Revision != old || put.Term == 0 {
		t.Fatalf("put says revision %d, and it is %d", put.Revision, old)
	}
	other := "x" + value
	theirs("PUT", url.Values{"value": {other}}.Encode())
	index := same(other)
	w.Want(kv.OK, store.Op{Kind: kv.Range, Key: k, Range: &store.RangeOp{}})

	if e := w.Want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Value: []byte(value), Revision: old}); e.Revision != index {
		t.Fatalf("a conflict tells revision %d, want %d", e.Revision, index)
	}
	if e := w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: []byte(value), Revision: index}); e.Revision != same(value) {
		t.Fatalf("a compare-and-set says revision %d", e.Revision)
	}
	if e := w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: []byte(other), Revision: unknown}); e.Extra != 1 {
		t.Fatalf("a compare-and-set that read first took %d requests more", e.Extra)
	}
	same(other)

	if e := w.Want(kv.OK, store.Op{Kind: kv.Delete, Key: k}); e.Count != 1 {
		t.Fatalf("%d keys were deleted", e.Count)
	}
	if a := theirs("GET", ""); a.ErrorCode != keyNotFound {
		t.Fatalf("net/http reads a deleted key: %+v", a)
	}
	if e := w.Want(kv.OK, store.Op{Kind: kv.Delete, Key: k}); e.Count != 0 {
		t.Fatalf("%d keys were deleted again", e.Count)
	}
	for _, level := range levels {
		w.Want(kv.Miss, store.Op{Kind: kv.Get, Key: k, Consistency: level})
	}
	if e := w.Want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Revision: 1}); e.Revision != 0 {
		t.Fatalf("a key that is not there has revision %d", e.Revision)
	}
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: []byte(value)}) // 0: create
	w.Want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Value: []byte(value)})
	same(value)
	theirs("DELETE", "")
	w.Want(kv.Miss, store.Op{Kind: kv.Get, Key: k})
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: []byte(value), Revision: unknown})
	same(value)
	w.Want(kv.OK, store.Op{Kind: kv.Delete, Key: k})
}

func agreeOnRanges(t *testing.T, w *storetest.Wire) {
	t.Helper()
	key := func(i int) string { return fmt.Sprintf("range/%d/%03d", i/100, i) }
	for i := range 300 {
		w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte(key(i)), Value: []byte(text(1000) + "\n" + fmt.Sprint(i))})
	}
	for _, tc := range []struct {
		key, end    string
		limit, want int64
		first       int
	}{
		{"range/", "range0", 0, 300, 0}, {"range/0/050", "range/1/100", 0, 50, 50}, {"range/", "range0", 128, 128, 0},
		{"range/1", "\x00", 1, 1, 100}, {"none", "nonf", 0, 0, -1}, {"range/2/299", "range/2/299\x00", 0, 1, 299},
		{"nowhere/a", "nowhere/b", 0, 0, -1}, {"/range/1/", "/range/2/", 0, 100, 100},
	} {
		for _, level := range levels {
			e := w.Want(kv.OK, store.Op{Kind: kv.Range, Key: []byte(tc.key), Consistency: level, Range: &store.RangeOp{End: []byte(tc.end), Limit: tc.limit}})
			if e.Count != tc.want {
				t.Errorf("%q to %q: %d keys, want %d", tc.key, tc.end, e.Count, tc.want)
			}
			if tc.first >= 0 && (strings.TrimPrefix(string(e.Key), "/") != key(tc.first) ||
				string(e.Value) != text(1000)+"\n"+fmt.Sprint(tc.first) || e.Revision == 0) {
				t.Errorf("%q to %q: first key %q, want %q", tc.key, tc.end, e.Key, key(tc.first))
			}
		}
	}
}

func liveErrors(t *testing.T, w *storetest.Wire) {
	t.Helper()
	// Keys are cleaned as paths are, which a read tells.
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("a//b/../c"), Value: []byte("v")})
	if e := w.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("a//b/../c")}); string(e.Key) != "a/c" {
		t.Errorf("key %q", e.Key)
	}
	for _, tc := range []struct {
		op   store.Op
		text string
	}{
		{store.Op{Kind: kv.Put, Key: []byte("range"), Value: []byte("v")}, "Not a file: /range"},
		{store.Op{Kind: kv.Get, Key: []byte("range")}, "the key is a folder"},
		{store.Op{Kind: kv.Delete, Key: []byte("range")}, "Not a file: /range"},
		{store.Op{Kind: kv.Put, Value: []byte("v")}, "Root is read only"},
	} {
		if e := w.Want(kv.BadRequest, tc.op); !strings.Contains(string(e.Text), tc.text) {
			t.Errorf("text %q, want %q", e.Text, tc.text)
		}
	}
}
