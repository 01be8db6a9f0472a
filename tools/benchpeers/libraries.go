package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

// NewClientV3 returns a peer that runs a closed loop over etcd's official Go client in a separate
// process. self is the path of the binary that calls LoopMain. The peer omits cases with a single
// client, because their goals compare quorumbench with h2load.
func NewClientV3(self string) Peer {
	return Peer{
		Name: ClientV3,
		CanRun: func(c Case) bool {
			return c.Store == etcd.Name && (c.Kind == kv.Watch || closedLoop(c) && c.Clients > 1)
		},
		Run: func(ctx context.Context, w Work) (Figures, error) {
			command := clientV3Command
			if w.Kind == kv.Watch {
				command = clientV3WatchCommand
			}
			return runLoop(ctx, self, ClientV3, command, w)
		},
	}
}

// clientV3Library adapts etcd's official Go client.
type clientV3Library struct {
	connections []*clientv3.Client
	keys        []string
}

func (lib *clientV3Library) connect(ctx context.Context, w Work) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	for range w.Connections {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{w.Endpoint}, DialTimeout: dialTimeout, Logger: zap.NewNop()})
		if err != nil {
			return fmt.Errorf("client/v3 cannot connect to %s: %w", w.Endpoint, err)
		}
		lib.connections = append(lib.connections, c)
		// The first call establishes the connection.
		if _, err := c.Get(ctx, "connect", clientv3.WithSerializable()); err != nil {
			return fmt.Errorf("client/v3 received no response from %s: %w", w.Endpoint, err)
		}
	}
	if w.Kind != kv.Put {
		return nil
	}
	answer, err := lib.connections[0].Get(ctx, w.PutSpace.Prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("the keys below %q cannot be listed: %w", w.PutSpace.Prefix, err)
	}
	for _, pair := range answer.Kvs {
		lib.keys = append(lib.keys, string(pair.Key))
	}
	if len(lib.keys) == 0 {
		return fmt.Errorf("there is no key below %q", w.PutSpace.Prefix)
	}
	return nil
}

func (lib *clientV3Library) caller(w Work, i int) func(context.Context) error {
	c := lib.connections[i%w.Connections]
	if w.Kind == kv.Put {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		value := strings.Repeat("v", w.ValueSize)
		return func(ctx context.Context) error {
			_, err := c.Put(ctx, lib.keys[random.IntN(len(lib.keys))], value)
			return err
		}
	}
	var options []clientv3.OpOption
	if w.Consistency == kv.Local {
		options = append(options, clientv3.WithSerializable())
	}
	return func(ctx context.Context) error {
		answer, err := c.Get(ctx, w.Key, options...)
		if err == nil && len(answer.Kvs) != 1 {
			err = fmt.Errorf("the key %q does not exist", w.Key)
		}
		return err
	}
}

func (lib *clientV3Library) close() {
	for _, c := range lib.connections {
		_ = c.Close()
	}
}

// NewGoZooKeeper returns a peer that runs a closed loop over github.com/go-zookeeper/zk, the usual
// Go client, in a separate process. self is the path of the binary that calls LoopMain.
func NewGoZooKeeper(self string) Peer {
	return Peer{
		Name: GoZooKeeper,
		CanRun: func(c Case) bool {
			return c.Store == zookeeper.Name && closedLoop(c) && (c.Kind == kv.Put || c.Consistency == kv.Local)
		},
		Run: func(ctx context.Context, w Work) (Figures, error) {
			return runLoop(ctx, self, GoZooKeeper, goZooKeeperCommand, w)
		},
	}
}

// sessionTimeout is the requested session timeout. quorumbench requests the same timeout.
const sessionTimeout = 30 * time.Second

// anyVersion makes a write succeed for any version of the node.
const anyVersion = -1

// goZooKeeperLibrary adapts the Go client for ZooKeeper.
type goZooKeeperLibrary struct {
	connections []*zk.Conn // each connection has its own session
	paths       []string
}

func (lib *goZooKeeperLibrary) connect(ctx context.Context, w Work) error {
	deadline := time.NewTimer(dialTimeout)
	defer deadline.Stop()
	for range w.Connections {
		c, err := ConnectZooKeeper(w.Endpoint)
		if err != nil {
			return err
		}
		lib.connections = append(lib.connections, c)
	}
	answered := make(chan error, w.Connections)
	for _, c := range lib.connections {
		go func() {
			_, _, err := c.Exists("/")
			answered <- err
		}()
	}
	for range lib.connections {
		select {
		case err := <-answered:
			if err != nil {
				return fmt.Errorf("go-zookeeper received no response from %s: %w", w.Endpoint, err)
			}
		case <-deadline.C:
			return fmt.Errorf("go-zookeeper received no response from %s within %v", w.Endpoint, dialTimeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if w.Kind != kv.Put {
		return nil
	}
	return lib.list(w.PutSpace.Prefix)
}

// ConnectZooKeeper starts to connect to one member, with a new session and without log output on
// standard error. With a single member, the library would try to connect only once, for one second.
// So ConnectZooKeeper increases this time.
func ConnectZooKeeper(endpoint string) (*zk.Conn, error) {
	patient := func(network, address string, _ time.Duration) (net.Conn, error) {
		return net.DialTimeout(network, address, dialTimeout)
	}
	c, _, err := zk.Connect([]string{endpoint}, sessionTimeout,
		zk.WithDialer(patient), zk.WithLogInfo(false), zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		return nil, fmt.Errorf("go-zookeeper cannot connect to %s: %w", endpoint, err)
	}
	return c, nil
}

// list finds the nodes to write: the children of the root whose names begin with prefix.
func (lib *goZooKeeperLibrary) list(prefix string) error {
	names, _, err := lib.connections[0].Children("/")
	if err != nil {
		return fmt.Errorf("the nodes below / cannot be listed: %w", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			lib.paths = append(lib.paths, "/"+name)
		}
	}
	if len(lib.paths) == 0 {
		return fmt.Errorf("no node below / has a name that begins with %q", prefix)
	}
	return nil
}

func (lib *goZooKeeperLibrary) caller(w Work, i int) func(context.Context) error {
	c := lib.connections[i%w.Connections]
	if w.Kind == kv.Put {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		value := bytes.Repeat([]byte("v"), w.ValueSize)
		return func(context.Context) error {
			_, err := c.Set(lib.paths[random.IntN(len(lib.paths))], value, anyVersion)
			return err
		}
	}
	path := "/" + w.Key
	return func(context.Context) error {
		_, _, err := c.Get(path)
		return err
	}
}

// close closes the sessions. It closes all sessions concurrently, because each close waits up to a
// second for the response.
func (lib *goZooKeeperLibrary) close() {
	var all sync.WaitGroup
	for _, c := range lib.connections {
		all.Go(c.Close)
	}
	all.Wait()
}
