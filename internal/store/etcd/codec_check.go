package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// These functions find replies that are well-formed but that no etcd server can send. They only
// compare fields that were parsed anyway. If a reply's header contains a member ID, the reply
// is from etcd and must respect all of etcd's guarantees. Servers that imitate etcd, such as
// kine, send no member ID and only the revision in the header.

// Descriptions of impossible replies. They are shared and must not be modified.
var (
	noHeader     = []byte("the response has no valid header: it names no member, and its revision is 0")
	noRevision   = []byte("the response confirms the write, but its revision is 0 or less, which no write can have")
	severalKeys  = []byte("the response has more keys than the requested one")
	namelessKey  = []byte("the response contains a key with an empty name")
	neverMade    = []byte("the response contains a key with a mod revision of 0 or less, which no key can have")
	fromLater    = []byte("the response contains a key whose mod revision is later than the response's revision")
	countsDiffer = []byte("the number of keys in the response differs from its count")
	moreOrNot    = []byte("the response's more flag contradicts its count")
	keysCounted  = []byte("the response contains keys, but only their number was requested")
	notTaken     = []byte("the response says that an unconditional transaction failed")
	otherResults = []byte("the response's results do not match the transaction's operations")
)

// impossible returns the reason why no etcd server can have sent the reply, or nil if a server
// can have sent it.
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
		return nil // only the caller knows how many puts the transaction contained
	case callCAS:
		return t.impossibleCAS(e)
	case callAgainStatus: // a server that imitates etcd may send neither a member ID nor a revision
		return nil
	case callAgainGrant:
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
			return severalKeys
		}
		return t.impossibleCount(e)
	case callTxnGet, callTxnCount:
		return t.impossibleTxnGet(call, e)
	}
	return nil
}

// lacksHeader reports whether the header contains neither a member ID, which etcd sends, nor a
// revision, which proxies and servers that imitate etcd send.
func (t *aside) lacksHeader(e *store.Event) bool {
	return t.revision < 0 || t.revision == 0 && e.Member == 0
}

// impossibleKeys checks the first key in a reply. It also checks that the number of keys does not
// exceed most.
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

// impossibleList checks a reply that lists e.Count keys.
func (t *aside) impossibleList(e *store.Event) []byte {
	switch {
	case t.total < e.Count:
		return countsDiffer
	case t.more != (t.total > e.Count):
		return moreOrNot
	}
	return t.impossibleKeys(e, e.Count)
}

// impossibleCount checks a reply that contains only a count. The count is in t.total.
func (t *aside) impossibleCount(e *store.Event) []byte {
	switch {
	case t.total < 0:
		return countsDiffer
	case e.Count > t.total:
		return countsDiffer
	case e.Count > 0 && e.Member != 0: // kine also sends one key
		return keysCounted
	}
	return nil
}

// impossibleTxnGet checks the reply to a transaction that consists of one read.
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

// impossibleCAS checks the reply to a compare-and-set. It has either written the value or read
// the present value. A server that imitates etcd may omit the present value.
func (t *aside) impossibleCAS(e *store.Event) []byte {
	switch {
	case e.Outcome == kv.Conflict && t.lacksHeader(e):
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

// impossiblePage checks a page that contains n keys.
func (c *codec) impossiblePage(s *scan, n int64) []byte {
	switch t := &c.extra; {
	case t.lacksHeader(&s.found):
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
