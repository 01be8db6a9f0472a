package keys

import (
	"bytes"
	"hash/crc32"
	"strings"
)

// The head of a value consists of base64url characters: a checksum (24 bits) of the key and the
// rest of the value, the client (30 bits) and the operation's number (42 bits).
const (
	sumLen    = 4
	clientLen = 5
	numberLen = 7
	// HeadLen is the smallest size in bytes of values that are unique and have a checksum.
	HeadLen = sumLen + clientLen + numberLen
)

// poolLen is the number of different positions in the random text from which values are cut.
const poolLen = 1 << 18

// crcTable uses Castagnoli's polynomial, for which CPUs have instructions.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// Values creates and checks values of one size. They are random base64url text, which every
// store accepts. A Values belongs to one goroutine.
//
// Invariant: values of at least HeadLen bytes are different for each client and operation
// number, and Judge recognizes them.
type Values struct {
	size int
	seed uint64
	pool []byte
}

// NewValues returns a Values for values of size bytes.
func NewValues(size int, seed uint64) *Values {
	v := &Values{size: size, seed: seed, pool: make([]byte, poolLen+size)}
	for i := 0; i < len(v.pool); i += 8 {
		r := RandomAt(seed, uint64(i))
		for j := i; j < min(i+8, len(v.pool)); j++ {
			v.pool[j] = alphabet[r&63]
			r >>= 6
		}
	}
	return v
}

// Size returns the size of every value in bytes.
func (v *Values) Size() int { return v.size }

// Unique reports whether values contain their client, operation number and checksum.
func (v *Values) Unique() bool { return v.size >= HeadLen }

// Append appends the value that operation n of a client writes to key.
func (v *Values) Append(b, key []byte, client uint32, n uint64) []byte {
	start := len(b)
	at := RandomAt(v.seed, n) % poolLen
	b = append(b, v.pool[at:int(at)+v.size]...)
	if !v.Unique() {
		return b
	}
	head := b[start:]
	encodeBits(head[sumLen:sumLen+clientLen], uint64(client))
	encodeBits(head[sumLen+clientLen:HeadLen], n)
	encodeBits(head[:sumLen], uint64(checksum(key, head[sumLen:])))
	return b
}

// Origin is the possible origin of a value.
type Origin uint8

// The origins.
const (
	Foreign Origin = iota // not written by quorumbench
	Short                 // too short for a checksum: the origin is unknown
	Other                 // a run with values of another size
	Own                   // a run with values of this size
)

// Judge returns the origin of a value of key. The checksum covers only the key and the value, so
// the values of any run and any seed pass.
func (v *Values) Judge(key, value []byte) Origin {
	if len(value) < HeadLen {
		if bytes.ContainsFunc(value, func(r rune) bool { return !strings.ContainsRune(alphabet, r) }) {
			return Foreign
		}
		return Short
	}
	var want [sumLen]byte
	encodeBits(want[:], uint64(checksum(key, value[sumLen:])))
	switch {
	case string(want[:]) != string(value[:sumLen]):
		return Foreign
	case len(value) != v.size:
		return Other
	}
	return Own
}

// phaseShift is the position of the phase's mark in an operation's number.
const phaseShift = 40

// Identity returns the identity of the value that operation n writes. Identities of different
// operations differ, and none is 0. The identity of a small number is small, whatever the
// phase's mark is, so that varints are short.
func Identity(n uint64) uint64 { return (n&(1<<phaseShift-1))<<2 | n>>phaseShift&3 + 1 }

// ReadIdentity returns the identity of a value whose origin is Own.
func ReadIdentity(value []byte) uint64 { return Identity(decodeNumber(value)) }

// NoIdentity is an identity that no value of an application has: it would belong to a warm-up, and
// applications have none.
const NoIdentity = 2 // Identity(1 << phaseShift)

// Identity returns the Identity of a key's value if its origin is Own, else NoIdentity.
func (v *Values) Identity(key, value []byte) uint64 {
	if v.Judge(key, value) != Own {
		return NoIdentity
	}
	return ReadIdentity(value)
}

// decodeNumber returns the operation number in a value of at least HeadLen bytes.
func decodeNumber(value []byte) (n uint64) {
	for _, x := range value[sumLen+clientLen : HeadLen] {
		n = n<<6 | uint64(digitOf[x]&63)
	}
	return n
}

// Number returns the number of the operation that wrote value to key. ok is false if its origin
// is not Own.
func (v *Values) Number(key, value []byte) (n uint64, ok bool) {
	if v.Judge(key, value) != Own {
		return 0, false
	}
	return decodeNumber(value), true
}

// checksum returns the checksum of a key and the rest of its value.
func checksum(key, rest []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, crcTable), crcTable, rest)
}

// encodeBits writes the low bits of n into b, six bits per byte.
func encodeBits(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = alphabet[n&63]
		n >>= 6
	}
}
