package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
)

// stmRead sends the same RangeRequest as package concurrency. At isolation levels below
// Serializable, all reads are local (etcd calls them serializable). At Serializable and above, the
// first read is linearizable, and the other reads are local reads at the first read's revision.
func (c *codec) stmRead(slot uint32, i int) {
	t := &c.stm.table[slot]
	p := call.Part{Action: call.Read, Key: t.pairs[i].key}
	if t.firstRevision > 0 && t.iso >= kv.Serializable {
		p.Number = t.firstRevision
	}
	if t.iso < kv.Serializable || t.firstRevision > 0 {
		p.Flags = call.Local
	}
	c.send(c.rangeRPC, stmTag(slot, i), uint8(c.gen<<genShift)|callSTMRead, &p)
}

// stmCommit sends the Txn request that commits. At RepeatableReads and above, this request compares
// each key's present version with the version that was read. At SerializableSnapshot, it also
// checks that no key that it would write has changed since the first read. If all comparisons hold,
// the request writes the values. Otherwise, at Serializable and above, it reads all keys again.
func (c *codec) stmCommit(slot uint32) {
	t := &c.stm.table[slot]
	first := t.makeWrites()
	parts := c.parts[:0]
	if t.iso >= kv.RepeatableReads {
		for i := range t.pairs {
			p := &t.pairs[i]
			parts = append(parts, call.Part{Action: call.Compare, Target: call.Modified, Key: p.key, Number: p.version})
		}
	}
	for i := range t.pairs {
		if p := &t.pairs[i]; p.writes && t.iso == kv.SerializableSnapshot {
			parts = append(parts, call.Part{Action: call.Compare, Target: call.Modified, Relation: call.Less, Key: p.key, Number: first + 1})
		}
	}
	for i := range t.pairs {
		if p := &t.pairs[i]; p.writes {
			parts = append(parts, call.Part{Action: call.Write, Branch: call.Then, Key: p.key, Value: call.Value{Text: p.writeValue}})
		}
	}
	if t.iso >= kv.Serializable {
		for i := range t.pairs {
			parts = append(parts, call.Part{Action: call.Read, Branch: call.Else, Key: t.pairs[i].key})
		}
	}
	c.parts = parts
	c.sendTxn(stmTag(slot, 0), uint8(c.gen<<genShift)|callSTMCommit)
}

// makeWrites computes the values to write. It returns the store's revision at the time of the
// earliest read.
func (t *stm) makeWrites() (first int64) {
	for i := range t.pairs {
		p := &t.pairs[i]
		if first == 0 || p.revision < first {
			first = p.revision
		}
		switch {
		case !p.writes:
		case t.edit == nil:
			p.writeValue = append(p.writeValue[:0], p.value...)
		case p.exists:
			p.writeValue = t.edit(i, p.value, p.readValue, p.writeValue[:0])
		default:
			p.writeValue = t.edit(i, p.value, nil, p.writeValue[:0])
		}
	}
	return first
}

// parseSTM parses the TxnResponse that replies to a commit. After a conflict, it contains the keys'
// present values.
func (c *codec) parseSTM(t *stm, b []byte, e *store.Event) (committed, ok bool) {
	c.extra = replyExtras{}
	f := fields{b: b}
	for f.next() {
		switch f.tag {
		case message.HeaderTag:
			f.must(c.parseHeader(f.v, e))
		case message.TxnSucceededTag:
			c.extra.succeeded = f.n != 0
		case message.TxnResultTag:
			if len(f.v) > 0 && f.v[0] == message.PutResultTag {
				c.extra.puts++
			}
		}
	}
	if e.Revision, e.StoreRevision = c.extra.revision, c.extra.revision; !f.ok() {
		return false, false
	}
	if c.extra.succeeded || t.iso < kv.Serializable {
		return c.extra.succeeded, true
	}
	revision := c.extra.revision
	ok = c.parseReread(t, b)
	c.extra.revision = revision // discards the revisions in the headers of the results
	return false, ok
}

// explainImpossible explains why no etcd server can have sent this reply to a commit. It returns
// nil if the reply is possible.
func (t *stm) explainImpossible(extra *replyExtras, e *store.Event) []byte {
	writes := int64(0)
	for i := range t.pairs {
		if t.pairs[i].writes {
			writes++
		}
	}
	switch {
	case extra.lacksHeader(e):
		return noHeader
	case extra.succeeded && writes > 0 && extra.revision <= 0:
		return noRevision
	case extra.succeeded && extra.puts != writes:
		return mismatchedResults
	case !extra.succeeded && t.iso == kv.ReadCommitted:
		return txnFailed
	}
	return nil
}

// parseReread parses the reply to a commit that failed. The server has then read the transaction's
// keys, and the reply must contain the result of one read for each pair in t.
func (c *codec) parseReread(t *stm, b []byte) bool {
	n := 0
	f := fields{b: b}
	for f.next() {
		if f.tag != message.TxnResultTag {
			continue
		}
		var found store.Event
		c.extra.revision = 0
		if n == len(t.pairs) || !c.parseResponseOp(f.v, &found) {
			return false
		}
		t.pairs[n].storeRead(&found, c.extra.revision, t.edit != nil)
		n++
	}
	return f.ok() && n == len(t.pairs)
}
