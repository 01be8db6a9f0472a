package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Checks of well-formed replies that no etcd server can send. They are a few
// comparisons of fields that were parsed anyway. A reply whose header names a
// member is from etcd and must keep all of etcd's guarantees; a stand-in such as
// kine names no member and sends only the revision in its header.

// Descriptions of impossible replies; shared and never modified.
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

// impossible returns why no etcd server can have sent a reply, or nil if the
// reply is possible.
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
		return nil // only the caller knows how many puts it sent
	case callCAS:
		return t.impossibleCAS(e)
	case callAgainStatus: // a stand-in may send neither member nor revision
		return nil
	case callAgainGrant:
		if e.Count != 0 { // the lease ID: kine sends no other header field
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

// lacksHeader reports whether the header has neither a member, which etcd sends, nor
// a revision, which a proxy or stand-in sends.
func (t *aside) lacksHeader(e *store.Event) bool {
	return t.revision < 0 || t.revision == 0 && e.Member == 0
}

// impossibleKeys checks the first key of a reply and that there are at most most
// keys.
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

// impossibleList checks a list of e.Count keys.
func (t *aside) impossibleList(e *store.Event) []byte {
	switch {
	case t.total < e.Count:
		return countsDiffer
	case t.more != (t.total > e.Count):
		return moreOrNot
	}
	return t.impossibleKeys(e, e.Count)
}

// impossibleCount checks a count-only reply, whose count is in t.total.
func (t *aside) impossibleCount(e *store.Event) []byte {
	switch {
	case t.total < 0:
		return countsDiffer
	case e.Count > t.total:
		return countsDiffer
	case e.Count > 0 && e.Member != 0: // kine also sends the counted key
		return keysCounted
	}
	return nil
}

// impossibleTxnGet checks a transaction that consists of one read.
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

// impossibleCAS checks a compare-and-set, which either wrote, or read the present
// value. A stand-in may omit the value.
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

// impossiblePage checks a page of n keys.
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
