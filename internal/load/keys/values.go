package keys

import (
	"bytes"
	"hash/crc32"
	"strings"
)

// The head of a value, in base64url characters: a checksum over the key and all
// that follows it, then who wrote it. 24 + 30 + 42 bits.
const (
	sumLen    = 4
	clientLen = 5
	numberLen = 7
	// HeadLen is the size in bytes from which values are unique and checked whole.
	HeadLen = sumLen + clientLen + numberLen
)

// poolLen is how much random text there is to cut values from.
const poolLen = 1 << 18

// crcTable is of Castagnoli's polynomial, which processors compute.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// Values makes and checks values of one size: random base64url text, which
// every store can hold. A Values belongs to one goroutine.
type Values struct {
	size int
	seed uint64
	pool []byte
}

// NewValues returns a maker of values of size bytes.
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

// Size is the size of every value in bytes.
func (v *Values) Size() int { return v.size }

// Unique reports whether values carry who wrote them and a checksum.
func (v *Values) Unique() bool { return v.size >= HeadLen }

// Append appends the value that the given client's n-th operation writes to key.
func (v *Values) Append(b, key []byte, client uint32, n uint64) []byte {
	start := len(b)
	at := RandomAt(v.seed, n) % poolLen
	b = append(b, v.pool[at:int(at)+v.size]...)
	if !v.Unique() {
		return b
	}
	head := b[start:]
	put(head[sumLen:sumLen+clientLen], uint64(client))
	put(head[sumLen+clientLen:HeadLen], n)
	put(head[:sumLen], uint64(checksum(key, head[sumLen:])))
	return b
}

// Origin says who can have written a value to a key.
type Origin uint8

// The origins.
const (
	Foreign Origin = iota // no run of quorumbench
	Short                 // too short to carry a checksum: it cannot be known
	Other                 // a run whose values have another size
	Own                   // a run whose values have this size
)

// Judge says who can have written value to key. The checksum is over the key and
// the value alone, so the values of every run and seed pass it.
func (v *Values) Judge(key, value []byte) Origin {
	if len(value) < HeadLen {
		if bytes.ContainsFunc(value, func(r rune) bool { return !strings.ContainsRune(alphabet, r) }) {
			return Foreign
		}
		return Short
	}
	var want [sumLen]byte
	put(want[:], uint64(checksum(key, value[sumLen:])))
	switch {
	case string(want[:]) != string(value[:sumLen]):
		return Foreign
	case len(value) != v.size:
		return Other
	}
	return Own
}

// phaseShift is from which bit on an operation's number says of which phase it is.
const phaseShift = 40

// Identity is a number among the values of a key that Append makes, never 0. It is
// small where the operation's number is, whatever the phase's mark.
func Identity(n uint64) uint64 { return (n&(1<<phaseShift-1))<<2 | n>>phaseShift&3 + 1 }

// Read is the Identity of an Own value.
func Read(value []byte) uint64 { return Identity(numberIn(value)) }

// Nobodys is the Identity of no value that an application writes: its number would be of a
// warm-up, which none has.
const Nobodys = 2 // Identity(1 << phaseShift)

// Of is the Identity of a key's value, or Nobodys of one that is not Own.
func (v *Values) Of(key, value []byte) uint64 {
	if v.Judge(key, value) != Own {
		return Nobodys
	}
	return Read(value)
}

func numberIn(value []byte) (n uint64) {
	for _, x := range value[sumLen+clientLen : HeadLen] {
		n = n<<6 | uint64(digitOf[x]&63)
	}
	return n
}

// Number is the number of the operation that wrote value to key; ok is false
// for what is not Own.
func (v *Values) Number(key, value []byte) (n uint64, ok bool) {
	if v.Judge(key, value) != Own {
		return 0, false
	}
	return numberIn(value), true
}

func checksum(key, rest []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, crcTable), crcTable, rest)
}

// put writes the low bits of n, six to a byte.
func put(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = alphabet[n&63]
		n >>= 6
	}
}
