package etcd

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func TestConform(t *testing.T) { storetest.Conform(t, fixture()) }

func fixture() storetest.Fixture {
	return storetest.Fixture{
		Store: New(), Start: start, Official: view, Members: true, Terms: true,
		Keys: awkwardKeys(), Values: storetest.Values(127, 128, 16_360, 16_384, 70_000, 1<<20),
		Refused: []storetest.Refusal{
			{Op: storetest.Put("", []byte("v")), Outcome: kv.BadRequest, Text: "etcdserver: key is not provided"},
			{Op: storetest.Put("k", storetest.Bytes(1600<<10)), Outcome: kv.BadRequest},
		},
		TooLarge: storetest.Refusal{Op: storetest.Put("k", storetest.Bytes(3<<20)), Outcome: kv.BadRequest},
	}
}

func awkwardKeys() []string {
	keys := append(storetest.KeysOfBytes("", ""), storetest.KeysOfBytes("k", "")...)
	return append(keys, string(storetest.EveryByte()), strings.Repeat("\xff", 256), strings.Repeat("k", 256))
}

func view(t testing.TB, a store.Access) storetest.Client {
	return official.EtcdView{Client: official.Etcd(t, a), Context: longTimeout(t)}
}

// start starts members, which run in this process.
func start(t *testing.T, o storetest.Options) *storetest.Server {
	t.Helper()
	if !o.TLS && !o.User {
		return startCluster(t, max(o.Members, 1))
	}
	s := &storetest.Server{}
	var files *testCerts
	if o.TLS {
		files = newTestCerts(t)
		s.Access.TLS = files.client(t)
	}
	l := startLive(t, files, false)
	s.Access.Endpoints = []string{l.endpoint}
	if o.User {
		enableAuth(t, l)
		s.Denied = []store.Access{s.Access, s.Access}
		s.Denied[1].User, s.Denied[1].Password = "root", "wrong"
		s.Access.User, s.Access.Password = "root", "secret"
	}
	return s
}

func startCluster(t *testing.T, members int) *storetest.Server {
	t.Helper()
	return &storetest.Server{Access: servers.StartInProcess(t, New(), store.LaunchSpec{
		Cluster: "conform", Self: "unused", Members: servers.ReservePlaces(t, members), Settings: &Settings{LogLevel: "error", UnsafeNoFsync: true},
	}, store.Access{})}
}
