package nullserver

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxTxnOps is etcd's default limit of comparisons, and of operations in
// either branch.
const maxTxnOps = 128

// txnRequest is a TxnRequest; its slices are reused from one to the next.
type txnRequest struct {
	compares []compare
	success  []txnOp
	failure  []txnOp
}

// compare is a Compare: of version, create or mod revision or lease with
// number, or of the value.
type compare struct {
	result, target int64
	key, end       []byte
	number         int64
	value          []byte
}

// txnOp is a RequestOp; field says which of the three it is, 0 for none.
type txnOp struct {
	field  protowire.Number
	get    rangeRequest
	put    putRequest
	remove deleteRequest
}

// The fields of RequestOp and ResponseOp.
const (
	opRange  = 1
	opPut    = 2
	opDelete = 3
	opTxn    = 4
)

// parse reads a request and checks it.
func (t *txnRequest) parse(b []byte) (err *status) {
	t.compares, t.success, t.failure = t.compares[:0], t.success[:0], t.failure[:0]
	for len(b) > 0 {
		number, _, data, rest, ok := next(b)
		if !ok {
			return errMalformed
		}
		b = rest
		switch number {
		case 1:
			var c compare
			if c, err = parseCompare(data); err == nil {
				t.compares = append(t.compares, c)
			}
		case 2:
			t.success, err = appendOp(t.success, data)
		case 3:
			t.failure, err = appendOp(t.failure, data)
		}
		if err != nil {
			return err
		}
	}
	return t.check()
}

// check is what etcd's api/v3rpc/key.go checks, in its order.
func (t *txnRequest) check() *status {
	if max(len(t.compares), len(t.success), len(t.failure)) > maxTxnOps {
		return errTooManyOps
	}
	for i := range t.compares {
		if len(t.compares[i].key) == 0 {
			return errEmptyKey
		}
	}
	for _, ops := range [2][]txnOp{t.success, t.failure} {
		for i := range ops {
			if err := ops[i].check(); err != nil {
				return err
			}
		}
	}
	if overlap(t.success) || overlap(t.failure) {
		return errDuplicateKey
	}
	return nil
}

func (op *txnOp) check() *status {
	switch op.field {
	case opRange:
		return checkRange(&op.get, true)
	case opPut:
		return checkPut(&op.put, true)
	case opDelete:
		return checkDelete(&op.remove, true)
	case opTxn:
		return errNestedTxn
	}
	return errKeyNotFound // no operation at all
}

func parseCompare(b []byte) (c compare, err *status) {
	for len(b) > 0 {
		number, value, data, rest, ok := next(b)
		if !ok {
			return c, errMalformed
		}
		b = rest
		switch number {
		case 1:
			c.result = int64(value)
		case 2:
			c.target = int64(value)
		case 3:
			c.key = data
		case 4, 5, 6, 8:
			c.number = int64(value)
		case 7:
			c.value = data
		case 64:
			c.end = data
		}
	}
	return c, nil
}

func appendOp(ops []txnOp, b []byte) ([]txnOp, *status) {
	var op txnOp
	for len(b) > 0 {
		number, _, data, rest, ok := next(b)
		if !ok {
			return ops, errMalformed
		}
		b = rest
		switch number {
		case opRange:
			op.get, ok = parseRange(data)
		case opPut:
			op.put, ok = parsePut(data)
		case opDelete:
			op.remove, ok = parseDelete(data)
		case opTxn:
		default:
			continue
		}
		if !ok {
			return ops, errMalformed
		}
		op.field = number
	}
	return append(ops, op), nil
}

// overlap reports whether a key is put twice, or put and deleted.
func overlap(ops []txnOp) bool {
	for i := range ops {
		if ops[i].field != opPut {
			continue
		}
		key := ops[i].put.key
		for j := range ops {
			switch other := &ops[j]; {
			case other.field == opPut && j > i && bytes.Equal(key, other.put.key),
				other.field == opDelete && inside(key, other.remove.key, other.remove.end):
				return true
			}
		}
	}
	return false
}

// inside reports whether key is in the interval from begin to end. Here, other
// than elsewhere, etcd does not take an end of one zero byte for no end.
func inside(key, begin, end []byte) bool {
	if len(end) == 0 {
		return bytes.Equal(key, begin)
	}
	return bytes.Compare(key, begin) >= 0 && bytes.Compare(key, end) < 0
}
