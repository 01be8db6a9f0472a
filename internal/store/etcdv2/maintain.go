package etcdv2

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/store/asking"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// deleters is how many removals are under way at once.
const deleters = 16

// Compact implements store.Maintainer.
func (*admin) Compact(context.Context) (int64, error) {
	return 0, errors.New("etcd's v2 API keeps the last 1000 events and no other history, so there is nothing to compact")
}

// Defragment implements store.Maintainer.
func (*admin) Defragment(context.Context) error {
	return errors.New("etcd's v2 API holds its keys in memory, so there is nothing to defragment")
}

// MoveLeader implements store.Maintainer.
func (*admin) MoveLeader(context.Context, uint64) error {
	return errors.New("etcd's v2 API cannot move the leadership")
}

// listed is a key or folder in a list.
type listed struct {
	Key   string
	Dir   bool
	Nodes []listed
}

// keys counts the keys in it.
func (n *listed) keys() int64 {
	if !n.Dir {
		return 1
	}
	count := int64(0)
	for i := range n.Nodes {
		count += n.Nodes[i].keys()
	}
	return count
}

// maxList bounds the list of keys that are to be removed, in bytes; the v2 API
// lists them with their values.
const maxList = 256 << 20

// DeletePrefix implements store.Maintainer. The v2 API removes keys and
// folders, and no prefixes: what begins with the prefix in its folder is
// removed piece by piece.
func (a *admin) DeletePrefix(ctx context.Context, prefix []byte) (int64, error) {
	p := string(httpkv.Bare(prefix))
	if p == "" {
		return 0, errors.New("an empty prefix would remove every key of the etcd cluster")
	}
	fail := func(err error) (int64, error) {
		return 0, fmt.Errorf("etcd does not remove the keys that begin with %q: %w", prefix, err)
	}
	var list struct{ Node listed }
	folder := p[:strings.LastIndexByte(p, '/')+1]
	err := a.any(asking.Allow(ctx, maxList), http.MethodGet, keyPath(folder)+"?recursive=true&quorum=true", &list)
	if missing(err) {
		return 0, nil
	}
	if err != nil {
		return fail(err)
	}
	var pieces []*listed
	for i := range list.Node.Nodes {
		if n := &list.Node.Nodes[i]; strings.HasPrefix(n.Key, "/"+p) {
			pieces = append(pieces, n)
		}
	}
	if err := a.removeAll(ctx, pieces); err != nil {
		return fail(err)
	}
	count := int64(0)
	for _, n := range pieces {
		count += n.keys()
	}
	return count, nil
}

// removeAll removes keys and folders, several at once.
func (a *admin) removeAll(ctx context.Context, pieces []*listed) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan *listed)
	var wg sync.WaitGroup
	for range min(deleters, len(pieces)) {
		wg.Go(func() {
			for n := range work {
				target := keyPath(n.Key)
				if n.Dir {
					target += "?recursive=true"
				}
				if err := a.any(ctx, http.MethodDelete, target, nil); err != nil && !missing(err) {
					cancel(err)
				}
			}
		})
	}
	for _, n := range pieces {
		if ctx.Err() != nil {
			break
		}
		work <- n
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

// missing reports whether an error says that there is no such key.
func missing(err error) bool {
	var e *apiStatus
	return errors.As(err, &e) && e.code == keyNotFound
}

// keyPath is a key's place in the API.
func keyPath(key string) string {
	u := url.URL{Path: "/v2/keys/" + strings.TrimPrefix(key, "/")}
	return u.EscapedPath()
}
