package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// stmRead sends a RangeRequest{key: 1, revision: 4, serializable: 7}, as
// package concurrency has it: the contacted member may answer alone below
// Serializable; from there on the first read is linearizable, and the others
// are of its revision.
func (c *codec) stmRead(place uint32, i int) {
	t := &c.stm.table[place]
	p := &t.pairs[i]
	size := sizeKnown(len(p.key))
	if t.base > 0 && t.iso >= kv.Serializable {
		size += 1 + sizeVarint(uint64(t.base))
	}
	local := t.iso < kv.Serializable || t.base > 0
	if local {
		size += 2
	}
	b := c.conn.Call(c.rangeRPC, stmTag(place, i), uint8(c.gen<<genShift)|callSTMRead, size)
	b = putBytes(b, 1<<3|pbBytes, p.key)
	if t.base > 0 && t.iso >= kv.Serializable {
		b[0] = 4<<3 | pbVarint
		b = putVarint(b[1:], uint64(t.base))
	}
	if local {
		b[0], b[1] = 7<<3|pbVarint, 1
	}
}

// stmCommit sends a TxnRequest: compares what was read (from RepeatableReads
// on) and that nobody wrote, since the first read, what is to be written
// (SerializableSnapshot); writes; else reads all again (from Serializable on).
//
//	compare: 1 {result: 1 (LESS = 2), target: 2 = MOD, key: 3, mod_revision: 6}
//	success: 2 {request_put: 2 {key: 1, value: 2}}
//	failure: 3 {request_range: 1 {key: 1}}
func (c *codec) stmCommit(place uint32) {
	t := &c.stm.table[place]
	first := t.makeWrites()
	b := c.conn.Call(c.txnRPC, stmTag(place, 0), uint8(c.gen<<genShift)|callSTMCommit, t.sizeCommit(first))
	if t.iso >= kv.RepeatableReads {
		for i := range t.pairs {
			b = putCompare(b, t.pairs[i].key, 0, t.pairs[i].version)
		}
	}
	for i := range t.pairs {
		if p := &t.pairs[i]; p.writes && t.iso == kv.SerializableSnapshot {
			b = putCompare(b, p.key, 2, first+1)
		}
	}
	for i := range t.pairs {
		if p := &t.pairs[i]; p.writes {
			put := sizeKnown(len(p.key)) + sizeKnown(len(p.write))
			b = putHead(b, 2<<3|pbBytes, sizeBytes(put))
			b = putHead(b, 2<<3|pbBytes, put)
			b = putBytes(putBytes(b, 1<<3|pbBytes, p.key), 2<<3|pbBytes, p.write)
		}
	}
	if t.iso >= kv.Serializable {
		for i := range t.pairs {
			key := t.pairs[i].key
			b = putHead(b, 3<<3|pbBytes, sizeBytes(sizeKnown(len(key))))
			b = putHead(b, 1<<3|pbBytes, sizeKnown(len(key)))
			b = putBytes(b, 1<<3|pbBytes, key)
		}
	}
}

// makeWrites makes the values to be written, and returns the store's revision
// at the earliest read.
func (t *stm) makeWrites() (first int64) {
	for i := range t.pairs {
		p := &t.pairs[i]
		if first == 0 || p.revision < first {
			first = p.revision
		}
		switch {
		case !p.writes:
		case t.edit == nil:
			p.write = append(p.write[:0], p.value...)
		case p.found:
			p.write = t.edit(i, p.value, p.read, p.write[:0])
		default:
			p.write = t.edit(i, p.value, nil, p.write[:0])
		}
	}
	return first
}

func (t *stm) sizeCommit(first int64) (size int) {
	for i := range t.pairs {
		p := &t.pairs[i]
		if t.iso >= kv.RepeatableReads {
			size += sizeBytes(sizeCompare(p.key, 0, p.version))
		}
		if p.writes && t.iso == kv.SerializableSnapshot {
			size += sizeBytes(sizeCompare(p.key, 2, first+1))
		}
		if p.writes {
			size += sizeBytes(sizeBytes(sizeKnown(len(p.key)) + sizeKnown(len(p.write))))
		}
		if t.iso >= kv.Serializable {
			size += sizeBytes(sizeBytes(sizeKnown(len(p.key))))
		}
	}
	return size
}

// sizeCompare is the size of a comparison of a key's mod_revision: EQUAL (0,
// which is left out) or LESS (2).
func sizeCompare(key []byte, result byte, revision int64) int {
	size := 2 + sizeKnown(len(key)) + 1 + sizeVarint(uint64(revision))
	if result != 0 {
		size += 2
	}
	return size
}

func putCompare(b, key []byte, result byte, revision int64) []byte {
	b = putHead(b, 1<<3|pbBytes, sizeCompare(key, result, revision))
	if result != 0 {
		b[0], b[1] = 1<<3|pbVarint, result
		b = b[2:]
	}
	b[0], b[1] = 2<<3|pbVarint, 2
	b = putBytes(b[2:], 3<<3|pbBytes, key)
	b[0] = 6<<3 | pbVarint
	return putVarint(b[1:], uint64(revision))
}

// parseSTM reads the TxnResponse{header: 1, succeeded: 2, responses: 3} to a
// commit. After a conflict the responses are what the keys have now.
func (c *codec) parseSTM(t *stm, b []byte, e *store.Event) (committed, ok bool) {
	c.extra = aside{}
	f := fields{b: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | pbBytes:
			f.must(c.parseHeader(f.v, e))
		case 2<<3 | pbVarint:
			c.extra.succeeded = f.n != 0
		case 3<<3 | pbBytes:
			if len(f.v) > 0 && f.v[0] == 2<<3|pbBytes {
				c.extra.puts++
			}
		}
	}
	if e.Revision, e.At = c.extra.revision, c.extra.revision; !f.ok() {
		return false, false
	}
	if c.extra.succeeded || t.iso < kv.Serializable {
		return c.extra.succeeded, true
	}
	revision := c.extra.revision
	ok = c.parseReread(t, b)
	c.extra.revision = revision // and not that of a result's own header
	return false, ok
}

// impossible is the sentence about a commit's answer that cannot be; nil if
// there is nothing to say.
func (t *stm) impossible(extra *aside, e *store.Event) []byte {
	writes := int64(0)
	for i := range t.pairs {
		if t.pairs[i].writes {
			writes++
		}
	}
	switch {
	case extra.headless(e):
		return noHeader
	case extra.succeeded && writes > 0 && extra.revision <= 0:
		return noRevision
	case extra.succeeded && extra.puts != writes:
		return otherResults
	case !extra.succeeded && t.iso == kv.ReadCommitted:
		return notTaken
	}
	return nil
}

// parseReread reads the responses, one for each pair.
func (c *codec) parseReread(t *stm, b []byte) bool {
	n := 0
	f := fields{b: b}
	for f.next() {
		if f.tag != 3<<3|pbBytes {
			continue
		}
		var found store.Event
		c.extra.revision = 0
		if n == len(t.pairs) || !c.parseResponseOp(f.v, &found) {
			return false
		}
		t.pairs[n].take(&found, c.extra.revision, t.edit != nil)
		n++
	}
	return f.ok() && n == len(t.pairs)
}
