package official

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Etcd returns etcd's own client, which is closed when the test ends.
func Etcd(t testing.TB, a store.Access) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{
		Endpoints: a.Endpoints, DialTimeout: waitLimit, Logger: zap.NewNop(), Username: a.User, Password: a.Password, TLS: a.TLS,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// EtcdView implements storetest.Client.
type EtcdView struct {
	Client  *clientv3.Client
	Context context.Context
}

// Get implements storetest.Client.
func (v EtcdView) Get(key string) ([]byte, int64, error) {
	r, err := v.Client.Get(v.Context, key)
	if err != nil || len(r.Kvs) == 0 {
		return nil, 0, err
	}
	return r.Kvs[0].Value, r.Kvs[0].ModRevision, nil
}

// Put implements storetest.Client.
func (v EtcdView) Put(key string, value []byte) error {
	_, err := v.Client.Put(v.Context, key, string(value))
	return err
}

// Delete implements storetest.Client.
func (v EtcdView) Delete(key string) error {
	_, err := v.Client.Delete(v.Context, key)
	return err
}
