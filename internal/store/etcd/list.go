package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/store"
)

var _ store.Cleaner = (*admin)(nil)

// namesPage is how many names of keys are asked for at once.
const namesPage = 5000

// KeysOf implements store.Cleaner.
func (a *admin) KeysOf(ctx context.Context, prefix []byte, most int) (names []string, more bool, err error) {
	c, err := a.connected(ctx)
	if err != nil {
		return nil, false, err
	}
	end := clientv3.GetPrefixRangeEnd(string(prefix))
	for from, more := string(prefix), true; more; {
		r, err := c.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(namesPage), clientv3.WithKeysOnly())
		if err != nil {
			return nil, false, fmt.Errorf("etcd does not list the keys that begin with %q: %s", prefix, reason(ctx, err))
		}
		for _, pair := range r.Kvs {
			if len(names) == most {
				return names, true, nil
			}
			from = string(pair.Key) + "\x00"
			names = append(names, string(pair.Key))
		}
		more = r.More && len(r.Kvs) > 0
	}
	return names, false, nil
}
