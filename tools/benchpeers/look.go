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
)

// lookTimeout limits the time to read the keys.
const lookTimeout = 10 * time.Second

// checkKeys reads a key space with an independent client. All keys must exist, and the first key's
// value must have the right size. checkKeys returns the first key.
func checkKeys(ctx context.Context, storeName, endpoint string, s Space) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	// Each function returns the keys with the prefix (some functions also return other keys), and a
	// function that reads one key.
	client, ok := map[string]func(ctx context.Context, endpoint, prefix string) (keys []string, read func(key string) ([]byte, error), err error){
		etcd.Name: listEtcdKeys, zookeeper.Name: listZooKeeperKeys, consul.Name: listConsulKeys, etcdv2.Name: listEtcdV2Keys,
	}[storeName]
	if !ok {
		return "", fmt.Errorf("benchpeers has no client for %s", storeName)
	}
	keys, read, err := client(ctx, endpoint, s.Prefix)
	if err != nil {
		return "", err
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, s.Prefix) })
	if len(keys) != s.Keys {
		return "", fmt.Errorf("there are %d keys instead of %d", len(keys), s.Keys)
	}
	key := slices.Min(keys)
	value, err := read(key)
	if err == nil && len(value) != valueSize {
		err = fmt.Errorf("a value has %d bytes instead of %d", len(value), valueSize)
	}
	return key, err
}

func listEtcdKeys(ctx context.Context, endpoint, prefix string) (keys []string, read func(string) ([]byte, error), err error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: lookTimeout, Logger: zap.NewNop()})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = c.Close() }()
	answer, err := c.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, nil, err
	}
	values := map[string][]byte{}
	for _, kv := range answer.Kvs {
		keys = append(keys, string(kv.Key))
		values[string(kv.Key)] = kv.Value
	}
	return keys, func(key string) ([]byte, error) { return values[key], nil }, nil
}

func listZooKeeperKeys(ctx context.Context, endpoint, _ string) (keys []string, read func(string) ([]byte, error), err error) {
	c, err := ConnectZooKeeper(endpoint)
	if err != nil {
		return nil, nil, err
	}
	context.AfterFunc(ctx, c.Close) // ends calls that would otherwise block forever
	keys, _, err = c.Children("/")
	return keys, func(key string) ([]byte, error) {
		value, _, err := c.Get("/" + key)
		return value, err
	}, err
}

func listConsulKeys(ctx context.Context, endpoint, prefix string) (keys []string, read func(string) ([]byte, error), err error) {
	err = fetch(ctx, "http://"+endpoint+"/v1/kv/"+prefix+"?keys", &keys)
	return keys, func(key string) ([]byte, error) {
		target, _ := LocalRead(consul.Name, key)
		return download(ctx, "http://"+endpoint+target)
	}, err
}

func listEtcdV2Keys(ctx context.Context, endpoint, _ string) (keys []string, read func(string) ([]byte, error), err error) {
	type node struct {
		Key, Value string
		Nodes      []node
	}
	var root struct{ Node node }
	err = fetch(ctx, "http://"+endpoint+"/v2/keys/?sorted=true", &root)
	for _, n := range root.Node.Nodes {
		keys = append(keys, strings.TrimPrefix(n.Key, "/"))
	}
	return keys, func(key string) ([]byte, error) {
		target, _ := LocalRead(etcdv2.Name, key)
		var answer struct{ Node node }
		err := fetch(ctx, "http://"+endpoint+target, &answer)
		return []byte(answer.Node.Value), err
	}, err
}

// fetch requests a JSON document and decodes it.
func fetch(ctx context.Context, url string, target any) error {
	b, err := download(ctx, url)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, target); err != nil {
		return fmt.Errorf("cannot parse the response to %s: %w", url, err)
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
		err = fmt.Errorf("the response to %s has status %s", url, answer.Status)
	}
	return b, err
}
