package etcd_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// TestLiveOlderEtcd checks etcd versions before 3.7: a streamed range must fail with an error that
// explains why, and the other forms of a range must work as in newer versions.
func TestLiveOlderEtcd(t *testing.T) {
	old := etcdv2.New()
	c := servers.Start(t, old, servers.Cluster{
		Exec: servers.InstalledServer(t, old), Members: 1,
		Ready: func(ctx context.Context, endpoint string) error {
			client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
			if err != nil {
				return err
			}
			defer func() { _ = client.Close() }()
			_, err = client.Put(ctx, "ready", "1")
			return err
		},
	})
	w := storetest.Dial(t, etcd.New(), store.Access{Endpoints: c.Endpoints})
	w.Ready()
	const keys = 25
	for i := range keys {
		w.Want(kv.OK, store.Op{Kind: kv.Put, Key: fmt.Appendf(nil, "k%02d", i), Value: []byte("v")})
	}
	ranged := func(form store.RangeOp) store.Op {
		form.End = []byte("l")
		return store.Op{Kind: kv.Range, Key: []byte("k"), Range: &form}
	}
	if e := w.Want(kv.StoreError, ranged(store.RangeOp{Streamed: true})); !strings.Contains(string(e.Text), "the server does not support streamed ranges") {
		t.Errorf("%s", e.Text)
	}
	if e := w.Want(kv.OK, ranged(store.RangeOp{PageSize: 10})); e.Count != keys || e.ExtraRequests != 2 {
		t.Errorf("%+v", e)
	}
	if e := w.Want(kv.OK, ranged(store.RangeOp{CountOnly: true})); e.Count != keys {
		t.Errorf("%+v", e)
	}
}
