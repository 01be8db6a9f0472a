// Package official provides the official clients for protocols that several stores speak, and
// adapters (called views) that implement storetest.Client for storetest.Conform.
package official

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/store"
)

// waitLimit is the time limit for every wait of a test.
const waitLimit = 2 * time.Minute

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// dialer connects over TLS if the access settings require TLS.
func dialer(a store.Access) func(*zk.Conn) {
	return zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
		d := &net.Dialer{Timeout: timeout}
		if a.TLS != nil {
			return tls.DialWithDialer(d, network, address, a.TLS)
		}
		return d.Dial(network, address)
	})
}

// ZooKeeper returns the most common Go client (github.com/go-zookeeper/zk) with an established
// session.
func ZooKeeper(t testing.TB, a store.Access) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(a.Endpoints, 10*time.Second, zk.WithLogger(silentLogger{}), zk.WithLogInfo(false), dialer(a))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				if a.User != "" {
					if err := c.AddAuth("digest", []byte(a.User+":"+a.Password)); err != nil {
						t.Fatal(err)
					}
				}
				return c
			}
		case <-time.After(waitLimit):
			t.Fatal("the official client did not get a session")
		}
	}
}

// ZooKeeperView implements storetest.Client.
type ZooKeeperView struct{ Conn *zk.Conn }

// ZooKeeperPath returns the path of the node for a key.
func ZooKeeperPath(key string) string { return "/" + strings.TrimPrefix(key, "/") }

// Get implements storetest.Client.
func (v ZooKeeperView) Get(key string) ([]byte, int64, error) {
	b, stat, err := v.Conn.Get(ZooKeeperPath(key))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	return b, int64(stat.Version) + 1, nil
}

// Put implements storetest.Client. It creates the node and its parents if they are missing.
func (v ZooKeeperView) Put(key string, value []byte) error {
	path := ZooKeeperPath(key)
	_, err := v.Conn.Set(path, value, -1)
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	for i := 1; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		if _, err := v.Conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	_, err = v.Conn.Create(path, value, 0, zk.WorldACL(zk.PermAll))
	return err
}

// Delete implements storetest.Client.
func (v ZooKeeperView) Delete(key string) error { return v.Conn.Delete(ZooKeeperPath(key), -1) }
