package nullserver

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/certs"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// official returns etcd's official client, connected to the server.
func official(t *testing.T, c clientv3.Config) *clientv3.Client {
	t.Helper()
	c.Logger = zap.NewNop()
	c.DialTimeout = time.Minute
	c.MaxCallSendMsgSize = 16 << 20
	client, err := clientv3.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// background returns a context that ends only if a test hangs.
func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// awkwardKeys returns keys of a single byte, a key that contains all bytes, and a long key.
func awkwardKeys() []string {
	return append(storetest.KeysOfBytes("", ""), string(storetest.EveryByte()), string(make([]byte, 1000)))
}

func roundTrip(t *testing.T, client *clientv3.Client) {
	t.Helper()
	ctx := background(t)
	values := map[string][]byte{
		"empty": nil, "one": {0}, "megabyte": bytes.Repeat([]byte("01234567"), 1<<17), "2 MB": bytes.Repeat([]byte{255}, 2<<20),
	}
	for _, key := range awkwardKeys() {
		values[key] = []byte("value of " + key)
	}
	for key, value := range values {
		if _, err := client.Put(ctx, key, string(value)); err != nil {
			t.Fatalf("put %q: %v", key, err)
		}
	}
	for key, value := range values {
		got, err := client.Get(ctx, key)
		if err != nil || got.Count != 1 || string(got.Kvs[0].Key) != key || !bytes.Equal(got.Kvs[0].Value, value) {
			t.Fatalf("get %q: %v", key, err)
		}
	}
	for key := range values {
		if got, err := client.Delete(ctx, key); err != nil || got.Deleted != 1 {
			t.Fatalf("delete %q: %v, %v", key, got, err)
		}
		if got, err := client.Get(ctx, key); err != nil || got.Count != 0 {
			t.Fatalf("reading %q after its deletion returned %v, %v", key, got, err)
		}
	}
}

func TestOfficialClient(t *testing.T) {
	roundTrip(t, official(t, clientv3.Config{Endpoints: start(t, 1, store.NullOptions{Memory: true}, nil)}))
}

func TestOfficialClientInChunks(t *testing.T) {
	client := official(t, clientv3.Config{Endpoints: start(t, 1, options("chunk=5"), nil)})
	ctx := background(t)
	if _, err := client.Put(ctx, "k", "v"); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Get(ctx, "k"); err != nil || string(got.Kvs[0].Value) != "v" {
		t.Fatal(got, err)
	}
}

func TestOfficialClientDelayed(t *testing.T) {
	client := official(t, clientv3.Config{Endpoints: start(t, 1, options("delay=20ms"), nil)})
	begin := time.Now()
	if _, err := client.Put(background(t), "k", "v"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 20*time.Millisecond {
		t.Errorf("the put took only %s", took)
	}
}

func TestOfficialClientOverTLS(t *testing.T) {
	server, client := certs.Configs(t)
	o := store.NullOptions{Memory: true, TLS: server}
	roundTrip(t, official(t, clientv3.Config{Endpoints: start(t, 1, o, nil), TLS: client}))

	o.Script = "delay=5ms; stall=20ms@10ms"
	address := start(t, 1, o, nil)
	c := official(t, clientv3.Config{Endpoints: address, TLS: client})
	if _, err := c.Put(background(t), "k", "v"); err != nil {
		t.Fatal(err)
	}
	urls, err := c.MemberList(background(t))
	if err != nil || urls.Members[0].ClientURLs[0] != "https://"+address[0] {
		t.Errorf("members %v, %v", urls, err)
	}
}

func TestMembers(t *testing.T) {
	addresses := start(t, 3, store.NullOptions{Memory: true}, nil)
	ctx := background(t)
	for i, address := range addresses {
		client := official(t, clientv3.Config{Endpoints: []string{address}})
		put, err := client.Put(ctx, "shared", address)
		if err != nil {
			t.Fatal(err)
		}
		h := put.Header
		if h.MemberId != memberID(i+1) || h.RaftTerm != term || h.ClusterId != clusterID || h.Revision != int64(i+2) {
			t.Errorf("member %d: header %v", i+1, h)
		}
		status, err := client.Status(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		if status.Leader != memberID(1) || status.RaftTerm != term || status.Header.MemberId != memberID(i+1) || status.Version != version {
			t.Errorf("member %d: status %v", i+1, status)
		}
		list, err := client.MemberList(ctx)
		if err != nil || len(list.Members) != 3 {
			t.Fatal(list, err)
		}
		for j, m := range list.Members {
			if m.ID != memberID(j+1) || m.ClientURLs[0] != "http://"+addresses[j] {
				t.Errorf("member %d lists member %d as %v", i+1, j+1, m)
			}
		}
		get, err := official(t, clientv3.Config{Endpoints: addresses[:1]}).Get(ctx, "shared")
		if err != nil || string(get.Kvs[0].Value) != address {
			t.Errorf("member 1 does not return what member %d wrote: %v, %v", i+1, get, err)
		}
	}
}

func TestAuthentication(t *testing.T) {
	endpoints := start(t, 1, store.NullOptions{Memory: true, User: "root:secret"}, nil)
	ctx := background(t)
	client := official(t, clientv3.Config{Endpoints: endpoints, Username: "root", Password: "secret"})
	if _, err := client.Put(ctx, "k", "v"); err != nil {
		t.Error(err)
	}
	if _, err := official(t, clientv3.Config{Endpoints: endpoints}).Get(ctx, "k"); err == nil || err.Error() != rpctypes.ErrorDesc(rpctypes.ErrGRPCUserEmpty) {
		t.Errorf("a request without a user name returned: %v", err)
	}
	_, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, Username: "root", Password: "wrong", Logger: zap.NewNop(), DialTimeout: time.Minute,
	})
	if err == nil || rpctypes.ErrorDesc(err) != rpctypes.ErrorDesc(rpctypes.ErrGRPCAuthFailed) {
		t.Errorf("a login with a wrong password returned: %v", err)
	}
	open := official(t, clientv3.Config{Endpoints: start(t, 1, store.NullOptions{Memory: true}, nil)})
	if _, err := open.Authenticate(ctx, "root", "secret"); err != rpctypes.ErrAuthNotEnabled {
		t.Errorf("a login without authentication on the server returned: %v", err)
	}
}

func TestUnimplemented(t *testing.T) {
	client := official(t, clientv3.Config{Endpoints: start(t, 1, store.NullOptions{}, nil)})
	ctx := background(t)
	if _, err := client.Grant(ctx, 10); err == nil {
		t.Error("the server granted a lease")
	}
	if answer := <-client.Watch(ctx, "k"); answer.Err() == nil {
		t.Error("the server created a watch")
	}
}

// TestCanned checks that every key exists on a server without memory.
func TestCanned(t *testing.T) {
	value := strings.Repeat("0", 16)
	client := official(t, clientv3.Config{Endpoints: start(t, 1, store.NullOptions{ValueSize: len(value)}, nil)})
	ctx := background(t)
	for _, key := range awkwardKeys() {
		got, err := client.Get(ctx, key)
		if err != nil || got.Count != 1 || string(got.Kvs[0].Key) != key || string(got.Kvs[0].Value) != value {
			t.Fatalf("%q: %v, %v", key, got, err)
		}
	}
	if _, err := client.Put(ctx, "k", "v"); err != nil {
		t.Error(err)
	}
	if got, err := client.Delete(ctx, "k"); err != nil || got.Deleted != 1 {
		t.Error(got, err)
	}
	got, err := client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision("k"), "=", 7)).
		Then(clientv3.OpPut("k", "v"), clientv3.OpGet("k"), clientv3.OpDelete("l")).Commit()
	if err != nil || !got.Succeeded || len(got.Responses) != 3 || string(got.Responses[1].GetResponseRange().Kvs[0].Value) != value {
		t.Error(got, err)
	}
}
