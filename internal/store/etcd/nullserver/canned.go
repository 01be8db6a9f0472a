package nullserver

import (
	"github.com/quorumbench/quorumbench/internal/store/null"
)

// canned is a keeper that remembers nothing and costs next to nothing: every
// key exists, with one and the same value.
type canned struct{ value []byte }

// cannedRevision is that of every key and every write.
const cannedRevision = 2

func (c *canned) currentRevision() int64 { return cannedRevision }

func (c *canned) appendRange(b []byte, id *identity, r *rangeRequest, wrong null.Kind) ([]byte, *status) {
	return c.appendFound(id.appendHeader(b, cannedRevision), r, wrong), nil
}

func (c *canned) appendFound(b []byte, r *rangeRequest, wrong null.Kind) []byte {
	if !r.countOnly {
		value := c.value
		if r.keysOnly {
			value = nil
		}
		b = appendKV(b, 2, r.key, value, cannedRevision, cannedRevision, 1, wrong)
	}
	return appendUint(b, 4, 1)
}

func (c *canned) appendPut(b []byte, id *identity, _ *putRequest) ([]byte, *status) {
	return id.appendHeader(b, cannedRevision), nil
}

func (c *canned) appendDelete(b []byte, id *identity, _ *deleteRequest) ([]byte, *status) {
	return appendUint(id.appendHeader(b, cannedRevision), 2, 1), nil
}

// appendTxn answers as if every comparison held.
func (c *canned) appendTxn(b []byte, id *identity, t *txnRequest, wrong null.Kind) ([]byte, *status) {
	b = appendUint(id.appendHeader(b, cannedRevision), 2, 1)
	for i := range t.success {
		op := &t.success[i]
		at := len(b)
		if op.field != 0 {
			b = appendRevision(b, cannedRevision)
		}
		switch op.field {
		case opRange:
			b = c.appendFound(b, &op.get, wrong)
		case opDelete:
			b = appendUint(b, 2, 1)
		}
		if op.field != 0 {
			b = enclose(b, at, op.field)
		}
		b = enclose(b, at, 3)
	}
	return b, nil
}
