package peer

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// clientV3Library is etcd's official client.
type clientV3Library struct {
	serializable bool // read the member's own data

	connections []*clientv3.Client
	keys        []string
}

func (lib *clientV3Library) flags(flags *flag.FlagSet) {
	flags.BoolVar(&lib.serializable, "serializable", false, "read the member's own data")
}

func (lib *clientV3Library) connect(ctx context.Context, l *loop) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	for range l.conns {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{l.endpoint}, DialTimeout: dialTimeout, Logger: zap.NewNop()})
		if err != nil {
			return fmt.Errorf("client/v3 cannot connect to %s: %w", l.endpoint, err)
		}
		lib.connections = append(lib.connections, c)
		// The first call is what connects.
		if _, err := c.Get(ctx, "connect", clientv3.WithSerializable()); err != nil {
			return fmt.Errorf("client/v3 gets no answer from %s: %w", l.endpoint, err)
		}
	}
	if l.putPrefix == "" {
		return nil
	}
	answer, err := lib.connections[0].Get(ctx, l.putPrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("the keys below %q cannot be listed: %w", l.putPrefix, err)
	}
	for _, pair := range answer.Kvs {
		lib.keys = append(lib.keys, string(pair.Key))
	}
	if len(lib.keys) == 0 {
		return fmt.Errorf("there is no key below %q", l.putPrefix)
	}
	return nil
}

func (lib *clientV3Library) caller(l *loop, i int) func(context.Context) error {
	c := lib.connections[i%l.conns]
	if l.putPrefix != "" {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		value := strings.Repeat("v", l.valueSize)
		return func(ctx context.Context) error {
			_, err := c.Put(ctx, lib.keys[random.IntN(len(lib.keys))], value)
			return err
		}
	}
	var options []clientv3.OpOption
	if lib.serializable {
		options = append(options, clientv3.WithSerializable())
	}
	return func(ctx context.Context) error {
		answer, err := c.Get(ctx, l.key, options...)
		if err == nil && len(answer.Kvs) != 1 {
			err = fmt.Errorf("the key %q is not there", l.key)
		}
		return err
	}
}

func (lib *clientV3Library) close() {
	for _, c := range lib.connections {
		_ = c.Close()
	}
}
