package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// An answer that parses can still be one that no etcd sends. What the protocol
// promises of an answer is checked here, in a few comparisons of what was
// parsed anyway. A server that names its member in the header is etcd, and all
// promises are its; one that stands in for etcd, such as kine, names none, and
// its header has the revision alone.

// Sentences about answers that cannot be; nobody writes to them.
var (
	noHeader     = []byte("the answer has no header that etcd can have sent: no member, and the revision 0")
	noRevision   = []byte("the answer says that the write is done, and the store's revision is 0 or less: no write can have that")
	severalKeys  = []byte("the answer has more keys than the one that was asked for")
	namelessKey  = []byte("the answer has a key without a name")
	neverMade    = []byte("the answer has a key that was changed at revision 0 or less: no key can have that")
	fromLater    = []byte("the answer has a key that was changed after the revision that the answer is of")
	countsDiffer = []byte("the answer does not have as many keys as it says")
	moreOrNot    = []byte("the answer says that there are more keys and that it has them all, or neither")
	keysCounted  = []byte("the answer has keys, and only their number was asked for")
	notTaken     = []byte("the answer says that a transaction without a condition did not succeed")
	otherResults = []byte("the answer has other results than those of the transaction's operations")
)

// impossible is the sentence about an answer that no etcd can have sent; nil if
// there is nothing to say.
func (c *codec) impossible(call uint8, e *store.Event) []byte {
	t := &c.extra
	switch call {
	case callPut, callDelete:
		switch {
		case t.revision <= 0:
			return noRevision
		case e.Count < 0 || e.Count > 1:
			return severalKeys
		}
		return nil
	case callTxn:
		if t.revision <= 0 {
			return noRevision
		}
		if !t.succeeded {
			return notTaken
		}
		return nil // how many puts there were knows who asked
	case callCAS:
		return t.impossibleCAS(e)
	case callAgainStatus: // a stand-in may know neither member nor revision
		return nil
	case callAgainGrant:
		if e.Count != 0 { // the lease: kine says nothing in the header beside it
			return nil
		}
	}
	if t.headless(e) {
		return noHeader
	}
	switch call {
	case callGet:
		return t.impossibleKeys(e, 1)
	case callRange:
		return t.impossibleList(e)
	case callCount:
		return t.impossibleCount(e)
	case callExists:
		if t.total > 1 {
			return severalKeys
		}
		return t.impossibleCount(e)
	case callTxnGet, callTxnCount:
		return t.impossibleTxnGet(call, e)
	}
	return nil
}

// headless reports whether the header is none: etcd names the member, and
// a proxy in its place has at least a revision.
func (t *aside) headless(e *store.Event) bool {
	return t.revision < 0 || t.revision == 0 && e.Member == 0
}

// impossibleKeys looks at the first key of an answer, and that there are no more
// than at most.
func (t *aside) impossibleKeys(e *store.Event, most int64) []byte {
	switch {
	case e.Count == 0:
		return nil
	case e.Count > most:
		return severalKeys
	case len(e.Key) == 0:
		return namelessKey
	case e.Revision <= 0:
		return neverMade
	case e.Member != 0 && e.Revision > t.revision:
		return fromLater
	}
	return nil
}

// impossibleList looks at a list of e.Count keys.
func (t *aside) impossibleList(e *store.Event) []byte {
	switch {
	case t.total < e.Count:
		return countsDiffer
	case t.more != (t.total > e.Count):
		return moreOrNot
	}
	return t.impossibleKeys(e, e.Count)
}

// impossibleCount looks at an answer that only counts, which went to t.total.
func (t *aside) impossibleCount(e *store.Event) []byte {
	switch {
	case t.total < 0:
		return countsDiffer
	case e.Count > t.total:
		return countsDiffer
	case e.Count > 0 && e.Member != 0: // kine sends the one key that it counts, too
		return keysCounted
	}
	return nil
}

// impossibleTxnGet looks at a transaction of one read.
func (t *aside) impossibleTxnGet(call uint8, e *store.Event) []byte {
	switch {
	case !t.succeeded:
		return notTaken
	case t.ranges != 1 || t.puts != 0:
		return otherResults
	case call == callTxnCount:
		return t.impossibleCount(e)
	}
	return t.impossibleList(e)
}

// impossibleCAS looks at a compare-and-set: it wrote, or it did not and read
// what is there. A stand-in may leave out the latter.
func (t *aside) impossibleCAS(e *store.Event) []byte {
	switch {
	case e.Outcome == kv.Conflict && t.headless(e):
		return noHeader
	case e.Outcome == kv.Conflict:
		if t.puts != 0 || t.ranges != 1 && (t.ranges != 0 || e.Member != 0) {
			return otherResults
		}
	case t.revision <= 0:
		return noRevision
	case t.puts != 1 || t.ranges != 0:
		return otherResults
	}
	return nil
}

// impossiblePage looks at a page of n keys.
func (c *codec) impossiblePage(s *scan, n int64) []byte {
	switch t := &c.extra; {
	case t.headless(&s.found):
		return noHeader
	case s.counted < n:
		return countsDiffer
	case s.more != (s.counted > n):
		return moreOrNot
	case s.found.Count > 0 && len(s.found.Key) == 0:
		return namelessKey
	}
	return nil
}
