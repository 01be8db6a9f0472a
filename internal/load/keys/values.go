package keys

import (
	"bytes"
	"hash/crc32"
	"strings"
)

// A value starts with a head of base64url characters. The head contains a checksum of the key and
// of the rest of the value (24 bits), the client (30 bits), and the operation's number (42 bits).
const (
	sumLen    = 4
	clientLen = 5
	numberLen = 7
	// HeadLen is the minimum size, in bytes, of values that are unique and contain a checksum.
	HeadLen = sumLen + clientLen + numberLen
)

// poolLen is the number of positions in the pool of random text at which a value can start.
const poolLen = 1 << 18

// crcTable uses Castagnoli's polynomial because CPUs have instructions for it.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// Values creates and checks values of one size. The values consist of random base64url text, which
// every store accepts. A Values must be used by one goroutine only.
//
// Invariant: values with at least HeadLen bytes differ for different clients and different
// operation numbers, and Judge recognizes them.
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

// Unique reports whether the values contain their client, operation number and checksum.
func (v *Values) Unique() bool { return v.size >= HeadLen }

// Append appends to b the value that a client's operation n writes to key.
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

// Origin describes the possible origin of a value.
type Origin uint8

// The origins.
const (
	OriginForeign   Origin = iota // the value was not written by quorumbench
	OriginUnknown                 // the value is too short for a checksum, so its origin is unknown
	OriginOtherSize               // the value was written by a run whose values have a different size
	OriginOwn                     // the value was written by a run whose values have this size
)

// Judge returns the origin of a value that was read from key. The checksum covers only the key and
// the value, so values from any run with any seed are recognized.
func (v *Values) Judge(key, value []byte) Origin {
	if len(value) < HeadLen {
		if bytes.ContainsFunc(value, func(r rune) bool { return !strings.ContainsRune(alphabet, r) }) {
			return OriginForeign
		}
		return OriginUnknown
	}
	var want [sumLen]byte
	encodeBits(want[:], uint64(checksum(key, value[sumLen:])))
	switch {
	case string(want[:]) != string(value[:sumLen]):
		return OriginForeign
	case len(value) != v.size:
		return OriginOtherSize
	}
	return OriginOwn
}

// phaseShift is the position, in an operation's number, of the bits that mark the phase.
const phaseShift = 40

// Identity returns a number that identifies the value that operation n writes. Different operations
// have different identities, and no identity is 0. If n without the phase's mark is small, the
// identity is small, too. This keeps the encoded numbers (varints) short.
func Identity(n uint64) uint64 { return (n&(1<<phaseShift-1))<<2 | n>>phaseShift&3 + 1 }

// ReadIdentity returns the identity of a value whose origin is OriginOwn.
func ReadIdentity(value []byte) uint64 { return Identity(decodeNumber(value)) }

// NoIdentity is an identity that no value written by an application has. It would belong to an
// operation of the warm-up, and applications have no warm-up.
const NoIdentity = 2 // Identity(1 << phaseShift)

// Identity returns the Identity of a key's value if the value's origin is OriginOwn. Otherwise it
// returns NoIdentity.
func (v *Values) Identity(key, value []byte) uint64 {
	if v.Judge(key, value) != OriginOwn {
		return NoIdentity
	}
	return ReadIdentity(value)
}

// decodeNumber returns the operation number that a value contains. The value must have at least
// HeadLen bytes.
func decodeNumber(value []byte) (n uint64) {
	for _, x := range value[sumLen+clientLen : HeadLen] {
		n = n<<6 | uint64(digitValues[x]&63)
	}
	return n
}

// Number returns the number of the operation that wrote value to key. ok is false if the value's
// origin is not OriginOwn.
func (v *Values) Number(key, value []byte) (n uint64, ok bool) {
	if v.Judge(key, value) != OriginOwn {
		return 0, false
	}
	return decodeNumber(value), true
}

// checksum returns the checksum of a key and the rest of its value.
func checksum(key, rest []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, crcTable), crcTable, rest)
}

// encodeBits encodes the low bits of n into b, six bits per byte.
func encodeBits(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = alphabet[n&63]
		n >>= 6
	}
}
