package cetcd

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testservers/proxytest"
)

// binaryEnv names cetcd's binary for the tests.
const binaryEnv = "QUORUMBENCH_CETCD"

func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv(binaryEnv)
	if path == "" {
		t.Skipf("no registry has cetcd: set %s to the path of its binary", binaryEnv)
	}
	return path
}

func official(t *testing.T, endpoint string) *api.KV {
	t.Helper()
	client, err := api.NewClient(&api.Config{Address: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	return client.KV()
}

func TestLive(t *testing.T) {
	c := proxytest.Start(t, New(), binary(t), 1)
	endpoint := c.Access.Endpoints[0]
	w := proxytest.Dial(t, New(), c.Access, endpoint)
	client := official(t, endpoint)
	for _, key := range []string{"k", "a b", "ключ", "folder/deep/er", "%41?b=c&d#e;f", `"quoted\"`, "\x01\n", "...", strings.Repeat("k", 256)} {
		agreeOnKey(t, w, client, key)
	}
	for _, n := range []int{0, 1, 127, 128, 4096, 70_000, 1 << 20} {
		agreeOnValue(t, w, client, bytes.Repeat([]byte{0, 'v', 0xff}, n)[:n])
	}
	agreeOnRanges(t, w, client)
	noIndexes(t, endpoint)
	refusals(t, w)
	status, err := c.Admin.Status(t.Context())
	if err != nil || status.Members[0].Role != kv.Leader || !strings.HasPrefix(status.Version, "on etcd 3.") {
		t.Errorf("status %+v, %v", status, err)
	}
}

// noIndexes: no answer has an index beside its JSON, so that the codec cannot
// want one.
func noIndexes(t *testing.T, endpoint string) {
	t.Helper()
	for _, method := range []string{http.MethodPut, http.MethodGet} {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+endpoint+"/v1/kv/indexes", strings.NewReader("v"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // what counts are the fields
		if index := response.Header.Values("X-Consul-Index"); response.StatusCode != http.StatusOK || len(index) > 0 {
			t.Errorf("%s: status %d, indexes %q", method, response.StatusCode, index)
		}
	}
}

func agreeOnKey(t *testing.T, w *proxytest.Wire, client *api.KV, key string) {
	t.Helper()
	k := []byte(key)
	same := func(want string) int64 {
		t.Helper()
		theirs, _, err := client.List(key, nil) // which cetcd takes for a read of one key
		if err != nil || len(theirs) == 0 || theirs[0].Key != key || string(theirs[0].Value) != want {
			t.Fatalf("key %q: the official client reads %v, %v, not %q", key, theirs, err, want)
		}
		e := w.Want(kv.OK, store.Op{Kind: kv.Get, Key: k, Consistency: kv.Local})
		if strong := w.Want(kv.OK, store.Op{Kind: kv.Get, Key: k, Consistency: kv.Linearizable}); string(strong.Value) != want || strong.Revision != e.Revision {
			t.Fatalf("key %q: a linearizable read of %q at %d, not %q at %d", key, strong.Value, strong.Revision, want, e.Revision)
		}
		if string(e.Value) != want || string(e.Key) != key || e.Revision != int64(theirs[0].ModifyIndex) || e.Count != 1 {
			t.Fatalf("key %q: read %q of %q at %d, not %q at %d", key, e.Value, e.Key, e.Revision, want, theirs[0].ModifyIndex)
		}
		return e.Revision
	}
	w.Want(kv.Miss, store.Op{Kind: kv.Get, Key: k, Consistency: kv.Local})
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: k, Value: []byte("one")})
	old := same("one")
	if _, err := client.Put(&api.KVPair{Key: key, Value: []byte("two")}, nil); err != nil {
		t.Fatal(err)
	}
	now := same("two")
	w.Want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Value: []byte("x"), Revision: old})
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: []byte("three"), Revision: now})
	same("three")
	if e := w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: []byte("four"), Revision: unknown}); e.Extra != 1 {
		t.Errorf("a compare-and-set that read first took %d requests more", e.Extra)
	}
	same("four")
	w.Want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Value: []byte("x"), Revision: 0})
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: []byte(key + "new"), Value: []byte("x"), Revision: unknown})
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: []byte(key + "newer"), Value: []byte("x"), Revision: 0})
}

func agreeOnValue(t *testing.T, w *proxytest.Wire, client *api.KV, value []byte) {
	t.Helper()
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("values"), Value: value})
	theirs, _, err := client.Get("values", nil)
	if err != nil || !bytes.Equal(theirs.Value, value) {
		t.Fatalf("the official client reads %v, %v, not %d bytes", theirs, err, len(value))
	}
	e := w.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("values"), Consistency: kv.Local})
	if !bytes.Equal(e.Value, value) {
		t.Fatalf("read %d bytes, not %d", len(e.Value), len(value))
	}
}

func agreeOnRanges(t *testing.T, w *proxytest.Wire, client *api.KV) {
	t.Helper()
	var pairs []*api.KVPair // one by one: cetcd ignores the ?recurse that the official client sends
	for i := range 50 {
		key := fmt.Sprintf("range/%03d", i)
		w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte(key), Value: fmt.Appendf(nil, "value %d", i)})
		pair, _, err := client.Get(key, nil)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, pair)
	}
	for _, tc := range []struct {
		key, end    string
		limit, want int64
		first       int
	}{
		{"range/", "range0", 0, 50, 0}, {"range/010", "range/020", 0, 10, 10}, {"range/", "range0", 7, 7, 0},
		{"none", "nonf", 0, 0, -1}, {"range/049", "range/049\x00", 0, 1, 49}, {"range/007", "", 0, 1, 7},
	} {
		e := w.Want(kv.OK, store.Op{Kind: kv.Range, Key: []byte(tc.key), Consistency: kv.Linearizable, Range: &store.RangeOp{End: []byte(tc.end), Limit: tc.limit}})
		if e.Count != tc.want {
			t.Errorf("%q to %q: %d keys, not %d", tc.key, tc.end, e.Count, tc.want)
		}
		if tc.first >= 0 && (string(e.Key) != pairs[tc.first].Key || !bytes.Equal(e.Value, pairs[tc.first].Value)) {
			t.Errorf("%q to %q: first key %q, not %q", tc.key, tc.end, e.Key, pairs[tc.first].Key)
		}
	}
}

// refusals: what would break the server or the key is not sent, and the
// connection goes on.
func refusals(t *testing.T, w *proxytest.Wire) {
	t.Helper()
	w.Want(kv.BadRequest, store.Op{Kind: kv.Delete, Key: []byte("k")})
	w.Want(kv.BadRequest, store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: []byte("k")}}})
	w.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local})
	for key, text := range map[string]string{"": "Missing key name", "a//b": "redirects", "a/../b": "redirects"} {
		if e := w.Want(kv.BadRequest, store.Op{Kind: kv.Put, Key: []byte(key)}); !strings.Contains(string(e.Text), text) {
			t.Errorf("%q: %s", key, e.Text)
		}
	}
}

// Without a quorum neither a PUT nor a linearizable read is ever answered, and
// a local read is.
func TestLiveWithoutQuorum(t *testing.T) {
	c := proxytest.Start(t, New(), binary(t), 3)
	w := proxytest.Dial(t, New(), c.Access, c.Access.Endpoints[0])
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
	c.EndServers(1, 2)
	w.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local})
	w.Within(3 * time.Second)
	if e, err := w.Try(store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Linearizable}); e.Outcome != kv.ConnectionLost {
		t.Errorf("a linearizable read without a quorum: %v, %v", e.Outcome, err)
	}
	w = proxytest.Dial(t, New(), c.Access, c.Access.Endpoints[0]) // the read still waits on the other connection
	w.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local})
	w.Within(3 * time.Second)
	if e, err := w.Try(store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("w")}); e.Outcome != kv.ConnectionLost {
		t.Errorf("a put without a quorum: %v, %v", e.Outcome, err)
	}
	status, err := c.Admin.Status(t.Context())
	if err != nil || status.Members[1].Err == nil || status.Leader() != nil {
		t.Errorf("status %+v, %v", status, err)
	}
}
