package nullserver

import (
	"bytes"
	"cmp"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// shards is every shard that the transaction may touch.
func (t *txnRequest) shards(m *memory) (set shardSet) {
	for i := range t.compares {
		set |= m.shardsOf(t.compares[i].key, t.compares[i].end)
	}
	for _, ops := range [2][]txnOp{t.success, t.failure} {
		for i := range ops {
			switch op := &ops[i]; op.field {
			case opRange:
				set |= m.shardsOf(op.get.key, op.get.end)
			case opPut:
				set |= m.shardsOf(op.put.key, nil)
			case opDelete:
				set |= m.shardsOf(op.remove.key, op.remove.end)
			}
		}
	}
	return set
}

func (m *memory) appendTxn(b []byte, id *identity, t *txnRequest, wrong null.Kind) ([]byte, *status) {
	set := t.shards(m)
	m.lock(set)
	defer m.unlock(set)
	ops, succeeded := t.failure, false
	if m.hold(t.compares) {
		ops, succeeded = t.success, true
	}
	if err := m.checkOps(ops); err != nil {
		return b, err
	}
	w := writes{m: m}
	at := len(b)
	if succeeded {
		b = appendUint(b, 2, 1)
	}
	for i := range ops {
		b = w.appendOp(b, &ops[i], wrong)
	}
	return prependHeader(b, at, id, w.seen()), nil
}

// checkOps refuses what cannot be carried out, before anything is.
func (m *memory) checkOps(ops []txnOp) *status {
	for i := range ops {
		switch op := &ops[i]; op.field {
		case opRange:
			if err := checkRevision(&op.get, m.revision.Load()); err != nil {
				return err
			}
		case opPut:
			if err := m.mayPut(&op.put); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendOp carries out one operation and appends its ResponseOp.
func (w *writes) appendOp(b []byte, op *txnOp, wrong null.Kind) []byte {
	outer := len(b)
	switch op.field {
	case opRange:
		b = appendRevision(b, w.seen())
		b = w.m.appendFound(b, &op.get, wrong)
	case opPut:
		b = appendRevision(b, w.next())
		b = w.appendPut(b, &op.put)
	case opDelete:
		b = w.appendDelete(b, &op.remove)
		var room [headerRoom]byte
		b = insert(b, outer, appendRevision(room[:0], w.seen()))
	}
	if op.field != 0 {
		b = enclose(b, outer, op.field)
	}
	return enclose(b, outer, 3)
}

// appendRevision appends the header of a response inside a transaction's,
// which carries the revision alone.
func appendRevision(b []byte, revision int64) []byte {
	b = append(b, 1<<3|byte(protowire.BytesType), byte(sizeInt(revision)))
	return appendUint(b, 3, uint64(revision))
}

// hold reports whether all comparisons hold. As in etcd a key that is not there
// compares as one whose numbers are 0, and its value as equal to nothing; an
// interval holds when each of its keys does.
func (m *memory) hold(compares []compare) bool {
	for i := range compares {
		c := &compares[i]
		if len(c.end) == 0 {
			if !c.holds(m.get(c.key)) {
				return false
			}
			continue
		}
		empty := true
		for _, e := range m.interval(c.key, c.end) {
			if e.removed {
				continue
			}
			empty = false
			if !c.holds(e) {
				return false
			}
		}
		if empty && !c.holds(nil) {
			return false
		}
	}
	return true
}

// holds compares one entry; nil is a key that is not there.
func (c *compare) holds(e *entry) bool {
	const targetValue, targetLease = 3, 4
	if e == nil {
		if c.target == targetValue {
			return false
		}
		e = &entry{}
	}
	var order int
	switch c.target {
	case 0:
		order = cmp.Compare(e.version, c.number)
	case 1:
		order = cmp.Compare(e.create, c.number)
	case 2:
		order = cmp.Compare(e.mod, c.number)
	case targetValue:
		order = bytes.Compare(e.value, c.value)
	case targetLease:
		order = cmp.Compare(0, c.number)
	}
	switch c.result {
	case 0:
		return order == 0
	case 1:
		return order > 0
	case 2:
		return order < 0
	case 3:
		return order != 0
	}
	return true
}
