package official

import (
	"context"
	"net/http"
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Consul returns HashiCorp's client. Its token is the password in the access settings or, if that
// is empty, the user.
func Consul(t testing.TB, a store.Access) *api.Client {
	t.Helper()
	cfg := &api.Config{Address: a.Endpoints[0], Scheme: "http", Token: a.Password}
	if a.Password == "" {
		cfg.Token = a.User
	}
	if a.TLS != nil {
		transport := &http.Transport{TLSClientConfig: a.TLS.Clone()}
		transport.TLSClientConfig.NextProtos = nil
		t.Cleanup(transport.CloseIdleConnections)
		cfg.Scheme, cfg.HttpClient = "https", &http.Client{Transport: transport}
	}
	c, err := api.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ConsulView implements storetest.Client. If List is set, ConsulView reads a key through a list
// request, because some servers close the connection after a request for a missing key.
type ConsulView struct {
	KV   *api.KV
	List bool
}

// Get implements storetest.Client.
func (v ConsulView) Get(key string) ([]byte, int64, error) {
	if v.List {
		pairs, _, err := v.KV.List(key, nil)
		if err != nil || len(pairs) == 0 || pairs[0].Key != key {
			return nil, 0, err
		}
		return pairs[0].Value, int64(pairs[0].ModifyIndex), nil
	}
	p, _, err := v.KV.Get(key, nil)
	if err != nil || p == nil {
		return nil, 0, err
	}
	return p.Value, int64(p.ModifyIndex), nil
}

// Put implements storetest.Client.
func (v ConsulView) Put(key string, value []byte) error {
	_, err := v.KV.Put(&api.KVPair{Key: key, Value: value}, nil)
	return err
}

// Delete implements storetest.Client.
func (v ConsulView) Delete(key string) error {
	_, err := v.KV.Delete(key, nil)
	return err
}

// ConsulReady returns a function that returns nil once a member of a cluster without TLS accepts
// writes.
func ConsulReady(t testing.TB) func(ctx context.Context, endpoint string) error {
	return func(ctx context.Context, endpoint string) error {
		c := Consul(t, store.Access{Endpoints: []string{endpoint}})
		_, err := c.KV().Put(&api.KVPair{Key: "ready"}, (&api.WriteOptions{}).WithContext(ctx))
		return err
	}
}
