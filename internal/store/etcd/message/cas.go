package message

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// CAS encodes the TxnRequest for a compare-and-set. AppendTxn would encode the same bytes from
// three parts, but in twice the time, because AppendTxn does not know the messages' sizes in
// advance.
type CAS struct {
	key, value         []byte
	revision           uint64
	compare, put, read int // sizes of the three messages in bytes
}

// NewCAS returns a transaction that puts the value if the key has the given mod_revision.
// Otherwise the transaction reads the key without its value.
func NewCAS(key, value []byte, revision uint64) CAS {
	k := SizeText(key)
	return CAS{
		key: key, value: value, revision: revision,
		compare: 3 + k + protowire.SizeVarint(revision), put: k + SizeText(value), read: k + 2,
	}
}

// Size returns the number of bytes that Append appends.
func (c *CAS) Size() int {
	return sizeMessage(c.compare) + sizeMessage(sizeMessage(c.put)) + sizeMessage(sizeMessage(c.read))
}

// Append appends the transaction.
func (c *CAS) Append(b []byte) []byte {
	b = appendHead(b, txnCompare, c.compare)
	b = AppendVarint(b, compareTarget, uint64(call.Modified))
	b = AppendText(b, compareKey, c.key)
	b = AppendVarint(b, compareModified, c.revision) // appended even if it is 0, see appendCompared
	b = appendHead(appendHead(b, txnSuccess, sizeMessage(c.put)), opPut, c.put)
	b = AppendText(AppendText(b, PutKey, c.key), PutValue, c.value)
	b = appendHead(appendHead(b, txnFailure, sizeMessage(c.read)), opRange, c.read)
	return AppendVarint(AppendText(b, RangeKey, c.key), RangeKeysOnly, 1)
}

// appendHead appends the tag and the size of a field that contains a message.
func appendHead(b []byte, n protowire.Number, size int) []byte {
	if b = appendTag(b, n, protowire.BytesType); size < 1<<7 { // nearly always
		return append(b, byte(size))
	}
	return protowire.AppendVarint(b, uint64(size))
}

// sizeMessage returns the size of a field that contains a message of the given size.
func sizeMessage(size int) int { return 1 + protowire.SizeBytes(size) }
