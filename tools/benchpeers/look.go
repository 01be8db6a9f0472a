package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/peer"
)

// lookTimeout bounds a look at the keys.
const lookTimeout = 10 * time.Second

// look reads a key space with a client that is not ours: all its keys must be
// there, and the first one's value have its size. It returns the first key.
func look(ctx context.Context, storeName, endpoint string, s peer.Space) (key string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var found int // keys
	var value []byte
	switch storeName {
	case etcd.Name:
		key, value, found, err = lookEtcd(ctx, endpoint, s)
	case zookeeper.Name:
		key, value, found, err = lookZooKeeper(endpoint, s)
	case consul.Name:
		key, value, found, err = lookConsul(ctx, endpoint, s)
	case etcdv2.Name:
		key, value, found, err = lookEtcdV2(ctx, endpoint, s)
	default:
		err = fmt.Errorf("no client for %s is known here", storeName)
	}
	switch {
	case err != nil:
		return "", err
	case found != s.Keys:
		return "", fmt.Errorf("there are %d keys instead of %d", found, s.Keys)
	case len(value) != valueSize:
		return "", fmt.Errorf("a value has %d bytes instead of %d", len(value), valueSize)
	}
	return key, nil
}

func lookEtcd(ctx context.Context, endpoint string, s peer.Space) (key string, value []byte, found int, err error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: lookTimeout, Logger: zap.NewNop()})
	if err != nil {
		return "", nil, 0, err
	}
	defer func() { _ = c.Close() }()
	answer, err := c.Get(ctx, s.Prefix, clientv3.WithPrefix(), clientv3.WithLimit(1))
	if err != nil || len(answer.Kvs) == 0 {
		return "", nil, 0, err
	}
	return string(answer.Kvs[0].Key), answer.Kvs[0].Value, int(answer.Count), nil
}

func lookZooKeeper(endpoint string, s peer.Space) (key string, value []byte, found int, err error) {
	c, err := peer.ConnectZooKeeper(endpoint)
	if err != nil {
		return "", nil, 0, err
	}
	// It ends calls that would wait for ever.
	late := time.AfterFunc(lookTimeout, c.Close)
	defer late.Stop()
	defer c.Close()
	names, _, err := c.Children("/")
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, s.Prefix) })
	if err != nil || len(names) == 0 {
		return "", nil, 0, err
	}
	key = slices.Min(names)
	value, _, err = c.Get("/" + key)
	return key, value, len(names), err
}

func lookConsul(ctx context.Context, endpoint string, s peer.Space) (key string, value []byte, found int, err error) {
	var keys []string
	if err := fetch(ctx, "http://"+endpoint+"/v1/kv/"+s.Prefix+"?keys", &keys); err != nil || len(keys) == 0 {
		return "", nil, 0, err
	}
	target, _ := peer.LocalRead(consul.Name, keys[0])
	value, err = download(ctx, "http://"+endpoint+target)
	return keys[0], value, len(keys), err
}

func lookEtcdV2(ctx context.Context, endpoint string, s peer.Space) (key string, value []byte, found int, err error) {
	type node struct{ Key, Value string }
	var root struct{ Node struct{ Nodes []node } }
	if err := fetch(ctx, "http://"+endpoint+"/v2/keys/?sorted=true", &root); err != nil {
		return "", nil, 0, err
	}
	for _, n := range root.Node.Nodes {
		name := strings.TrimPrefix(n.Key, "/")
		if !strings.HasPrefix(name, s.Prefix) {
			continue
		}
		if found++; found == 1 {
			key = name
		}
	}
	if found == 0 {
		return "", nil, 0, nil
	}
	target, _ := peer.LocalRead(etcdv2.Name, key)
	var answer struct{ Node node }
	err = fetch(ctx, "http://"+endpoint+target, &answer)
	return key, []byte(answer.Node.Value), found, err
}

// fetch gets a JSON document.
func fetch(ctx context.Context, url string, into any) error {
	b, err := download(ctx, url)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("the answer to %s is not understood: %w", url, err)
	}
	return nil
}

func download(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the answer to %s is %s", url, answer.Status)
	}
	return b, err
}
