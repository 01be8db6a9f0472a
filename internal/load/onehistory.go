package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// historyTries is the number of consecutive tries in which reads must be out of order before
// endpoints are rejected. historyPause is the pause between two tries, which lets a lagging member
// catch up.
const (
	historyTries = 3
	historyPause = 150 * time.Millisecond
)

// checkOneHistory rejects the endpoints of a running cluster if their strong reads contradict each
// other: a read must not return an older revision of the store than a read that ended before this
// read began. In this way, it detects that the endpoints belong to different clusters, even if
// nothing else distinguishes these clusters, as with proxies or with copies that were started with
// the same names.
func (p *plan) checkOneHistory(ctx context.Context, key []byte) error {
	can := p.store.Capabilities()
	if !p.Confined || len(p.Endpoints) < 2 || !can.Has(kv.WriteOrder) {
		return nil
	}
	read := &store.Op{Kind: kv.Get, Consistency: can.Strongest(), Key: key}
	errs := make([]error, len(p.Endpoints))
	var asked sync.WaitGroup
	for i, endpoint := range p.Endpoints[1:] {
		asked.Go(func() { errs[i] = p.checkOrder(ctx, p.Endpoints[0], endpoint, read) })
	}
	asked.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkOrder reads at the first endpoint, at the second, and at the first again. It returns an
// error if the revisions are out of order in every try. It ignores reads that fail.
func (p *plan) checkOrder(ctx context.Context, first, second string, read *store.Op) error {
	var revisions [3]int64
	for try := range historyTries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(historyPause):
			}
		}
		for i, endpoint := range []string{first, second, first} {
			op := *read
			ev, err := p.execute(ctx, endpoint, &op)
			if err != nil || ev.StoreRevision == 0 {
				return nil
			}
			revisions[i] = ev.StoreRevision
		}
		if revisions[0] <= revisions[1] && revisions[1] <= revisions[2] {
			return nil
		}
	}
	return fmt.Errorf("the endpoints %s and %s belong to different clusters (a read at the second endpoint returned revision %d, and reads at the first endpoint before and after it returned %d and %d); give the endpoints of one cluster",
		first, second, revisions[1], revisions[0], revisions[2])
}
