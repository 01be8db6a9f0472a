package verify

import (
	"cmp"
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// checkByRevision checks the history of a store that returns revisions of writes. It divides the
// keys into parts, and reads the history once for each part. While it reads the history for the
// first part, it also checks the order of all operations.
func (c *checker) checkByRevision() error {
	txns := transactions{revisions: map[uint32]int64{}}
	for part, includesKey := range c.parts() {
		if err := c.checkPart(includesKey, part == 0, &txns); err != nil {
			return err
		}
	}
	c.found.beginSecondCheck()
	for siblings := txns.siblings(); len(siblings) > 0; siblings = txns.siblings() {
		if err := c.checkPart(func(key uint64) bool { return siblings[key] }, false, &txns); err != nil {
			return err
		}
	}
	return nil
}

// checkPart reads the history once and checks the keys for which the function `includesKey` returns
// true. If first is set, it also checks the order of all operations.
func (c *checker) checkPart(includesKey func(uint64) bool, first bool, txns *transactions) error {
	c.table.reset()
	c.revisions = c.revisions[:0]
	p := &pass{
		checker: c, includes: includesKey, first: first, rechecking: len(txns.recheckedKeys) > 0, txns: txns,
		revisionHistory: newRevisionHistory(c.survey.longest), watchers: newWatchers(),
	}
	if err := c.forEachOperation(p.take); err != nil {
		return err
	}
	var otherParts sync.WaitGroup
	otherParts.Go(func() { c.findDuplicateRevisions(c.revisions) })
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
	if !o.ContinuesPrevious {
		p.firstPartOrd = p.ord
	}
	role := roleOf(o)
	mine := role != unchecked && p.includes(o.Key)
	ordered := p.first && o.Revision > 0
	var limit bound
	if mine || ordered {
		limit = p.revisionHistory.boundBefore(o.Invoked)
	}
	if ordered {
		p.checkOrder(o, role, p.ord, &limit)
		p.sessions.check(&p.found, o, role, p.ord)
	}
	if role == wrote && !o.ContinuesPrevious && !p.rechecking && p.includes(uint64(o.Revision)) {
		p.revisions = append(p.revisions, revisionWriter{o.Revision, p.ord})
	}
	if mine {
		e := entryOf(o, role, p.ord, limit.acked)
		e.member = p.member(o)
		p.txns.addPart(&e, o, p.firstPartOrd)
		p.table.add(o.Key, &e)
	}
	p.revisionHistory.addResponse(o, role, p.ord)
}

// findDuplicateRevisions finds revisions that the responses to more than one write contain. A store
// numbers its writes, so each write must have a different revision.
func (c *checker) findDuplicateRevisions(all []revisionWriter) {
	slices.SortFunc(all, func(a, b revisionWriter) int {
		return cmp.Or(cmp.Compare(a.revision, b.revision), cmp.Compare(a.ord, b.ord))
	})
	for i := 1; i < len(all); i++ {
		if all[i].revision == all[i-1].revision {
			c.found.add(finding{kind: DuplicateRevision, guarantee: history.RevisionOrder, ords: [3]uint32{all[i-1].ord, all[i].ord}, operationCount: 2, revision: all[i].revision})
		}
	}
}
