// Package keys computes the kind, the key and the value of each operation. They depend only on the
// seed and the operation's number. The value also contains the number of the client.
package keys

import (
	"fmt"
	"math"
)

// alphabet contains the characters of base64url in the order of their byte values, so that keys
// sort in the order of their numbers.
const alphabet = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// Space is a key space: N keys of the same length, numbered from 0.
//
// Example: NewSpace("qb/", 4, 1000) contains the keys qb/0000 to qb/0999.
//
// Invariant: keys sort in the order of their numbers, and Number is the inverse of Append.
type Space struct {
	prefix string
	size   int // number of bytes after the prefix
	n      uint64
	digits bool // keys use only decimal digits; set if `size` digits are enough for n keys
}

// NewSpace returns a key space with n keys. Each key consists of the prefix and exactly `size` more
// bytes. NewSpace returns an error if `size` is too small for n different keys.
func NewSpace(prefix string, size int, n uint64) (Space, error) {
	if n == 0 {
		return Space{}, fmt.Errorf("a key space needs at least one key")
	}
	if capacity := math.Pow(float64(len(alphabet)), float64(size)); float64(n) > capacity {
		return Space{}, fmt.Errorf("a key size of %d bytes allows at most %.0f keys, but the key space has %d keys; use longer keys or a smaller key space",
			size, capacity, n)
	}
	return Space{prefix: prefix, size: size, n: n, digits: float64(n) <= math.Pow(10, float64(size))}, nil
}

// N returns the number of keys.
func (s Space) N() uint64 { return s.n }

// Len returns the length of every key in bytes.
func (s Space) Len() int { return len(s.prefix) + s.size }

// Number returns the number of a key. ok is false if the key is not in the key space.
func (s Space) Number(key []byte) (number uint64, ok bool) {
	if len(key) != s.Len() || string(key[:len(s.prefix)]) != s.prefix {
		return 0, false
	}
	for _, x := range key[len(s.prefix):] {
		digit, base := uint64(digitValues[x]), uint64(len(alphabet))
		if s.digits {
			digit, base = digit-1, 10
		}
		if digit >= base || number > s.n {
			return 0, false
		}
		number = number*base + digit
	}
	return number, number < s.n
}

// digitValues maps a byte to its position in alphabet, or to 255 if it is not in alphabet.
var digitValues = func() (v [256]byte) {
	for i := range v {
		v[i] = 255
	}
	for i := range len(alphabet) {
		v[alphabet[i]] = byte(i)
	}
	return v
}()

// Append appends the key with the given number to b. The number must be less than N.
func (s Space) Append(b []byte, number uint64) []byte {
	b = append(b, s.prefix...)
	base, set := uint64(len(alphabet)), alphabet
	if s.digits {
		base, set = 10, alphabet[1:11]
	}
	start := len(b)
	for range s.size {
		b = append(b, set[0])
	}
	for i := len(b) - 1; number > 0 && i >= start; i-- {
		b[i] = set[number%base]
		number /= base
	}
	return b
}
