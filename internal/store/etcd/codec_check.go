package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The functions in this file find replies that are well-formed but that no etcd server can send.
// They only compare fields that the codec parses in any case. If a reply's header contains a member
// ID, the reply is from etcd and must respect all of etcd's guarantees. Servers that imitate etcd,
// such as kine, set only the revision in the header.

// Descriptions of impossible replies. They are shared and must not be modified.
var (
	noHeader             = []byte("the response has no valid header: the header contains no member ID, and the revision is 0")
	noRevision           = []byte("the response confirms the write, but contains a revision of 0 or less; the revision of a write is positive")
	tooManyKeys          = []byte("the response contains more keys than the one that was requested")
	emptyKeyName         = []byte("the response contains a key with an empty name")
	badModRevision       = []byte("the response contains a key with a mod revision of 0 or less; the mod revision of a key is positive")
	laterModRevision     = []byte("the response contains a key whose mod revision is later than the response's revision")
	countsDiffer         = []byte("the number of keys in the response differs from the response's count field")
	moreContradictsCount = []byte("the response's fields 'more' and 'count' contradict each other")
	unexpectedKeys       = []byte("the response contains keys, but the request asked only for the number of keys")
	txnFailed            = []byte("the response says that an unconditional transaction failed")
	mismatchedResults    = []byte("the response's results do not match the transaction's operations")
)

// explainImpossible explains why no etcd server can have sent the reply. It returns nil if the
// reply is possible.
func (c *codec) explainImpossible(call uint8, e *store.Event) []byte {
	t := &c.extra
	switch call {
	case callPut, callDelete:
		switch {
		case t.revision <= 0:
			return noRevision
		case e.Count < 0 || e.Count > 1:
			return tooManyKeys
		}
		return nil
	case callTxn:
		if t.revision <= 0 {
			return noRevision
		}
		if !t.succeeded {
			return txnFailed
		}
		return nil // only the caller knows how many puts the transaction contained
	case callCAS:
		return t.impossibleCAS(e)
	case callReplayedStatus: // a server that imitates etcd may send neither a member ID nor a revision
		return nil
	case callReplayedGrant:
		if e.Count != 0 { // e.Count is the lease ID; kine sends no header field except the revision
			return nil
		}
	}
	if t.lacksHeader(e) {
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
			return tooManyKeys
		}
		return t.impossibleCount(e)
	case callTxnGet, callTxnCount:
		return t.impossibleTxnGet(call, e)
	}
	return nil
}

// lacksHeader reports whether the reply has no valid header. etcd always sets the member ID.
// Proxies and servers that imitate etcd set at least the revision. So a header without both is
// invalid, and so is a negative revision.
func (t *replyExtras) lacksHeader(e *store.Event) bool {
	return t.revision < 0 || t.revision == 0 && e.Member == 0
}

// impossibleKeys checks the first key in a reply. It also checks that the reply contains at most
// maxKeys keys.
func (t *replyExtras) impossibleKeys(e *store.Event, maxKeys int64) []byte {
	switch {
	case e.Count == 0:
		return nil
	case e.Count > maxKeys:
		return tooManyKeys
	case len(e.Key) == 0:
		return emptyKeyName
	case e.Revision <= 0:
		return badModRevision
	case e.Member != 0 && e.Revision > t.revision:
		return laterModRevision
	}
	return nil
}

// impossibleList checks a reply that lists e.Count keys.
func (t *replyExtras) impossibleList(e *store.Event) []byte {
	switch {
	case t.total < e.Count:
		return countsDiffer
	case t.more != (t.total > e.Count):
		return moreContradictsCount
	}
	return t.impossibleKeys(e, e.Count)
}

// impossibleCount checks a reply that contains only a count. The count is in t.total.
func (t *replyExtras) impossibleCount(e *store.Event) []byte {
	switch {
	case t.total < 0:
		return countsDiffer
	case e.Count > t.total:
		return countsDiffer
	case e.Count > 0 && e.Member != 0: // kine sends a key in addition to the count
		return unexpectedKeys
	}
	return nil
}

// impossibleTxnGet checks the reply to a transaction that consists of one read.
func (t *replyExtras) impossibleTxnGet(call uint8, e *store.Event) []byte {
	switch {
	case !t.succeeded:
		return txnFailed
	case t.ranges != 1 || t.puts != 0:
		return mismatchedResults
	case call == callTxnCount:
		return t.impossibleCount(e)
	}
	return t.impossibleList(e)
}

// impossibleCAS checks the reply to a compare-and-set. The reply must contain the result of the
// write or, after a conflict, the result of the read. A server that imitates etcd may omit the
// result of the read.
func (t *replyExtras) impossibleCAS(e *store.Event) []byte {
	switch {
	case e.Outcome == kv.Conflict && t.lacksHeader(e):
		return noHeader
	case e.Outcome == kv.Conflict:
		if t.puts != 0 || t.ranges != 1 && (t.ranges != 0 || e.Member != 0) {
			return mismatchedResults
		}
	case t.revision <= 0:
		return noRevision
	case t.puts != 1 || t.ranges != 0:
		return mismatchedResults
	}
	return nil
}

// impossiblePage checks a page that contains n keys.
func (c *codec) impossiblePage(s *scan, n int64) []byte {
	switch t := &c.extra; {
	case t.lacksHeader(&s.found):
		return noHeader
	case s.counted < n:
		return countsDiffer
	case s.more != (s.counted > n):
		return moreContradictsCount
	case s.found.Count > 0 && len(s.found.Key) == 0:
		return emptyKeyName
	}
	return nil
}
