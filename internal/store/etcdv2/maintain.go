package etcdv2

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// maxConcurrentDeletes is the number of deletes that run concurrently.
const maxConcurrentDeletes = 16

// DeletePrefix implements store.Cleaner. The v2 API can delete keys and folders, but not all keys
// with a prefix. So DeletePrefix lists the folder that contains the prefix, and deletes each key
// and folder with the prefix by a separate request.
func (a *admin) DeletePrefix(ctx context.Context, prefix []byte) (int64, error) {
	p := page{prefix: string(httpkv.TrimSlash(prefix))}
	if p.prefix == "" {
		return 0, errors.New("an empty prefix would delete every key of the etcd cluster")
	}
	fail := func(err error) (int64, error) {
		return 0, fmt.Errorf("etcd did not delete the keys with the prefix %q: %w", prefix, err)
	}
	folder := keyPath(p.prefix[:strings.LastIndexByte(p.prefix, '/')+1]) + "?recursive=true&quorum=true"
	count, before := int64(0), ""
	for p.full = true; p.full; {
		err := a.tryEndpoints(httpkv.WithResponseLimit(ctx, maxList), http.MethodGet, folder, p.read)
		if isKeyMissing(err) {
			break
		}
		if err != nil {
			return fail(err)
		}
		if len(p.removals) == 0 {
			break
		}
		if p.removals[0].name == before {
			return fail(fmt.Errorf("%.200q still exists although etcd confirmed its deletion", before))
		}
		before = p.removals[0].name
		if err := a.removeAll(ctx, p.removals); err != nil {
			return fail(err)
		}
		for i := range p.removals {
			count += p.removals[i].keys
		}
	}
	return count, nil
}

// removeAll removes keys and folders concurrently.
func (a *admin) removeAll(ctx context.Context, pieces []removal) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan removal)
	var wg sync.WaitGroup
	for range min(maxConcurrentDeletes, len(pieces)) {
		wg.Go(func() {
			for n := range work {
				target := keyPath(n.name)
				if n.dir {
					target += "?recursive=true"
				}
				if err := a.tryEndpoints(ctx, http.MethodDelete, target, nil); err != nil && !isKeyMissing(err) {
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

// isKeyMissing reports whether an error means that the key does not exist.
func isKeyMissing(err error) bool {
	var e *httpError
	return errors.As(err, &e) && e.code == keyNotFound
}

// keyPath returns the path of a key in the v2 API.
func keyPath(key string) string {
	u := url.URL{Path: "/v2/keys/" + strings.TrimPrefix(key, "/")}
	return u.EscapedPath()
}
