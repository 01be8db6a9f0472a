package cetcd

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/servers/proxied"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// binaryEnv is the environment variable that contains the path of cetcd's binary.
const binaryEnv = "QUORUMBENCH_CETCD"

func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv(binaryEnv)
	if path == "" {
		t.Skipf("no registry has cetcd: set %s to the path of its binary", binaryEnv)
	}
	return path
}

func TestConform(t *testing.T) {
	f := storetest.Fixture{
		Store: New(),
		Start: func(t *testing.T, o storetest.Options) *storetest.Server {
			c := proxied.Start(t, New(), binary(t), max(o.Members, 1))
			return &storetest.Server{Access: c.Access}
		},
		Official: func(t testing.TB, a store.Access) storetest.Client {
			// cetcd returns a list even for a read of one key.
			return official.ConsulView{KV: official.Consul(t, a).KV(), List: true}
		},
		Keys: []string{"k", "a b", "ключ", "folder/deep/er", "%41?b=c&d#e;f", `"quoted\"`, "\x01\n", "...", strings.Repeat("k", 256)},
		Refused: []storetest.Refusal{
			{Op: storetest.Put("", nil), Outcome: kv.BadRequest, Text: "Missing key name"},
			{Op: storetest.Put("a//b", nil), Outcome: kv.BadRequest, Text: "redirected"},
			{Op: storetest.Put("a/../b", nil), Outcome: kv.BadRequest, Text: "redirected"},
		},
	}
	for _, n := range []int{0, 1, 127, 128, 4096, 70_000, 1 << 20} {
		f.Values = append(f.Values, bytes.Repeat([]byte{0, 'v', 0xff}, n)[:n])
	}
	storetest.Conform(t, f)
}

// TestLiveIndexes checks that a response contains an index only in its JSON. So the codec cannot
// require an index in the header.
func TestLiveIndexes(t *testing.T) {
	endpoint := proxied.Start(t, New(), binary(t), 1).Access.Endpoints[0]
	for _, method := range []string{http.MethodPut, http.MethodGet} {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+endpoint+"/v1/kv/indexes", strings.NewReader("v"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only the header fields are needed
		if index := response.Header.Values("X-Consul-Index"); response.StatusCode != http.StatusOK || len(index) > 0 {
			t.Errorf("%s: status %d, indexes %q", method, response.StatusCode, index)
		}
	}
}

// TestLiveWithoutQuorum checks that without a quorum a PUT or a linearizable read gets no response,
// but a local read does.
func TestLiveWithoutQuorum(t *testing.T) {
	c := proxied.Start(t, New(), binary(t), 3)
	w := storetest.Dial(t, New(), c.Access)
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
	c.EndServers(1, 2)
	w.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local})
	w.SetTimeLimit(3 * time.Second)
	if e, err := w.Try(store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Linearizable}); e.Outcome != kv.ConnectionLost {
		t.Errorf("a linearizable read without a quorum: %v, %v", e.Outcome, err)
	}
	w = storetest.Dial(t, New(), c.Access) // a new connection, because the linearizable read still occupies the previous one
	w.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local})
	w.SetTimeLimit(3 * time.Second)
	if e, err := w.Try(store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("w")}); e.Outcome != kv.ConnectionLost {
		t.Errorf("a put without a quorum: %v, %v", e.Outcome, err)
	}
	status, err := c.Admin.Status(t.Context())
	if err != nil || status.Members[1].Err == nil || status.Leader() != nil {
		t.Errorf("status %+v, %v", status, err)
	}
}
