package peer

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// sessionTimeout is what a session asks for, as much as ours do.
const sessionTimeout = 30 * time.Second

// anyVersion writes whatever is there.
const anyVersion = -1

// goZooKeeperLibrary is the Go client for ZooKeeper.
type goZooKeeperLibrary struct {
	connections []*zk.Conn // a session each
	paths       []string
}

func (*goZooKeeperLibrary) flags(*flag.FlagSet) {}

func (lib *goZooKeeperLibrary) connect(ctx context.Context, l *loop) error {
	deadline := time.NewTimer(dialTimeout)
	defer deadline.Stop()
	for range l.conns {
		c, err := ConnectZooKeeper(l.endpoint)
		if err != nil {
			return err
		}
		lib.connections = append(lib.connections, c)
	}
	answered := make(chan error, l.conns)
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
				return fmt.Errorf("go-zookeeper gets no answer from %s: %w", l.endpoint, err)
			}
		case <-deadline.C:
			return fmt.Errorf("go-zookeeper gets no answer from %s within %v", l.endpoint, dialTimeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if l.putPrefix == "" {
		return nil
	}
	return lib.list(l.putPrefix)
}

// ConnectZooKeeper begins to connect to one member, with a session of its own
// and without a word on standard error. The library gives connecting one second
// and no second try where there is one member, so it is given more time.
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

// list finds the nodes that are put: those of the root that begin with prefix.
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
		return fmt.Errorf("no node of the root begins with %q", prefix)
	}
	return nil
}

func (lib *goZooKeeperLibrary) caller(l *loop, i int) func(context.Context) error {
	c := lib.connections[i%l.conns]
	if l.putPrefix != "" {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		value := bytes.Repeat([]byte("v"), l.valueSize)
		return func(context.Context) error {
			_, err := c.Set(lib.paths[random.IntN(len(lib.paths))], value, anyVersion)
			return err
		}
	}
	path := "/" + l.key
	return func(context.Context) error {
		_, _, err := c.Get(path)
		return err
	}
}

// close ends the sessions, each of which waits up to a second for its answer.
func (lib *goZooKeeperLibrary) close() {
	var all sync.WaitGroup
	for _, c := range lib.connections {
		all.Go(c.Close)
	}
	all.Wait()
}
