package etcdgateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/certs"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// TestConform checks that etcd's own gRPC client can read what the codec wrote as JSON, and that
// the codec can read what the client wrote.
func TestConform(t *testing.T) {
	storetest.Conform(t, storetest.Fixture{
		Store: New(), Start: start, Official: view, Members: true, Terms: true,
		Keys: awkwardKeys(), Values: storetest.Values(127, 128, 16_360, 70_000, 1<<20),
		Refused: []storetest.Refusal{
			{Op: storetest.Put("", []byte("v")), Outcome: kv.BadRequest, Text: "etcdserver: key is not provided"},
			{Op: storetest.Put("k", storetest.Bytes(1600<<10)), Outcome: kv.BadRequest, Text: "etcdserver: request is too large"},
			{Op: storetest.KeepAlive(77), Outcome: kv.BadRequest, Text: "etcdserver: requested lease not found"},
		},
		TooLarge: storetest.Refusal{Op: storetest.Put("k", storetest.Bytes(3<<20)), Outcome: kv.BadRequest},
	})
}

func awkwardKeys() []string {
	return append(storetest.KeysOfBytes("k", ""), "/", `"\`, string(storetest.EveryByte()), strings.Repeat("\xff", 256), strings.Repeat("k", 255))
}

func view(t testing.TB, a store.Access) storetest.Client {
	return official.EtcdView{Client: official.Etcd(t, a), Context: t.Context()}
}

// start starts members inside the test process, so a test cannot kill them.
func start(t *testing.T, o storetest.Options) *storetest.Server {
	t.Helper()
	spec := store.LaunchSpec{
		Cluster: "conform", Self: "unused", Members: servers.ReservePlaces(t, max(o.Members, 1)), Settings: &etcd.Settings{LogLevel: "error", UnsafeNoFsync: true},
	}
	s := &storetest.Server{}
	if o.TLS {
		certificate, key, trusts := certs.ServerFiles(t, t.TempDir())
		s.Access.TLS = trusts
		spec.Credentials = map[string]kv.Credentials{}
		for i, m := range spec.Members {
			spec.Members[i].Host = "127.0.0.1" // the certificate is valid for this address
			spec.Credentials[m.Name] = kv.Credentials{Certificate: read(t, certificate), Key: read(t, key)}
			if err := os.Mkdir(filepath.Join(m.Dir, "tls"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Access = servers.StartInProcess(t, New(), spec, s.Access)
	return s
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
