package message

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// CAS is the TxnRequest of a compare-and-set. AppendTxn makes the same bytes of three parts,
// in twice the time: here each size is known before the first byte is written.
type CAS struct {
	key, value         []byte
	revision           uint64
	compare, put, read int // sizes of the messages
}

// NewCAS returns the transaction that puts the value if the key has a mod_revision, and
// else reads the key without its value.
func NewCAS(key, value []byte, revision uint64) CAS {
	k := SizeText(key)
	return CAS{
		key: key, value: value, revision: revision,
		compare: 3 + k + protowire.SizeVarint(revision), put: k + SizeText(value), read: k + 2,
	}
}

// Size returns the size of what Append appends.
func (c *CAS) Size() int {
	return sizeMessage(c.compare) + sizeMessage(sizeMessage(c.put)) + sizeMessage(sizeMessage(c.read))
}

// Append appends the transaction.
func (c *CAS) Append(b []byte) []byte {
	b = appendHead(b, txnCompare, c.compare)
	b = AppendVarint(b, compareTarget, uint64(call.Modified))
	b = AppendText(b, compareKey, c.key)
	b = AppendVarint(b, compareModified, c.revision) // also where it is 0, as appendCompared does
	b = appendHead(appendHead(b, txnSuccess, sizeMessage(c.put)), opPut, c.put)
	b = AppendText(AppendText(b, PutKey, c.key), PutValue, c.value)
	b = appendHead(appendHead(b, txnFailure, sizeMessage(c.read)), opRange, c.read)
	return AppendVarint(AppendText(b, RangeKey, c.key), RangeKeysOnly, 1)
}

// appendHead appends the tag of a message and its size.
func appendHead(b []byte, n protowire.Number, size int) []byte {
	if b = appendTag(b, n, protowire.BytesType); size < 1<<7 { // nearly always
		return append(b, byte(size))
	}
	return protowire.AppendVarint(b, uint64(size))
}

// sizeMessage returns the size of a field that holds a message of a size.
func sizeMessage(size int) int { return 1 + protowire.SizeBytes(size) }
