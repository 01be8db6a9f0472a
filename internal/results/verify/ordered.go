package verify

import (
	"cmp"
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// ordered checks the history of a store that returns revisions of writes. It divides the keys into
// parts, and reads the history once for each part. While it reads the history for the first part,
// it also checks the order of all operations.
func (c *checker) ordered() error {
	parts := int(c.survey.operations/uint64(c.opt.Partition)) + 1
	txns := transactions{at: map[uint32]int64{}}
	for part := range parts {
		if err := c.part(func(key uint64) bool { return parts == 1 || int(mixed(key)>>33)%parts == part }, part == 0, &txns); err != nil {
			return err
		}
	}
	c.found.again()
	for siblings := txns.siblings(); len(siblings) > 0; siblings = txns.siblings() {
		if err := c.part(func(key uint64) bool { return siblings[key] }, false, &txns); err != nil {
			return err
		}
	}
	return nil
}

// part reads the history once and checks the keys for which the function `in` returns true. If
// first is set, it also checks the order of all operations.
func (c *checker) part(in func(uint64) bool, first bool, txns *transactions) error {
	c.table.reset()
	c.revisions = c.revisions[:0]
	p := &pass{
		checker: c, in: in, first: first, again: len(txns.again) > 0, txns: txns,
		seen: newSweep(c.survey.longest), watchers: newWatchers(),
	}
	if err := c.forEachOperation(p.take); err != nil {
		return err
	}
	var otherParts sync.WaitGroup
	otherParts.Go(func() { c.doubles(c.revisions) })
	c.keys(p)
	otherParts.Wait()
	return nil
}

func (p *pass) take(ord uint32, o *history.Op) {
	p.ord = ord
	if o.Kind == kv.Watch {
		p.checkEvent(o)
		return
	}
	if o.Kind == kv.KeepAlive {
		p.processLease(o)
		return
	}
	if !o.Joined {
		p.head = p.ord
	}
	role := roleOf(o)
	mine := role != unchecked && p.in(o.Key)
	ordered := p.first && o.At > 0
	var limit bound
	if mine || ordered {
		limit = p.seen.boundBefore(o.Invoked)
	}
	if ordered {
		p.orderOf(o, role, p.ord, &limit)
		p.sessions.check(&p.found, o, role, p.ord)
	}
	if role == wrote && !o.Joined && !p.again && p.in(uint64(o.At)) {
		p.revisions = append(p.revisions, revision{o.At, p.ord})
	}
	if mine {
		e := entryOf(o, role, p.ord, limit.acked)
		e.member = p.member(o)
		p.txns.enter(&e, o, p.head)
		p.table.add(o.Key, &e)
	}
	p.seen.ended(o, role, p.ord)
}

// doubles finds revisions that the responses to more than one write contain. A store numbers its
// writes, so each write must have a different revision.
func (c *checker) doubles(all []revision) {
	slices.SortFunc(all, func(a, b revision) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ord, b.ord)) })
	for i := 1; i < len(all); i++ {
		if all[i].at == all[i-1].at {
			c.found.add(finding{kind: SameRevision, promise: history.Order, ords: [3]uint32{all[i-1].ord, all[i].ord}, n: 2, revision: all[i].at})
		}
	}
}
