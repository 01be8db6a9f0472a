// Package keys computes which kind of operation operation n is, which key it touches and
// which value it writes: pure functions of the seed and n.
package keys

import (
	"fmt"
	"math"
)

// alphabet is base64url's characters in the order of their bytes, so that keys
// sort as their numbers do.
const alphabet = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// Space is the key space: N keys of one length, numbered from 0.
type Space struct {
	prefix string
	size   int // bytes after the prefix
	n      uint64
	digits bool // decimal digits are enough, which people read more easily
}

// NewSpace returns a space of n keys, each the prefix and exactly size bytes.
func NewSpace(prefix string, size int, n uint64) (Space, error) {
	if n == 0 {
		return Space{}, fmt.Errorf("a key space needs at least one key")
	}
	if capacity := math.Pow(float64(len(alphabet)), float64(size)); float64(n) > capacity {
		return Space{}, fmt.Errorf("keys of %d bytes hold %.0f different keys, and the key space is %d: make the keys longer or the key space smaller",
			size, capacity, n)
	}
	return Space{prefix: prefix, size: size, n: n, digits: float64(n) <= math.Pow(10, float64(size))}, nil
}

// N is the number of keys.
func (s Space) N() uint64 { return s.n }

// Len is the length of every key in bytes.
func (s Space) Len() int { return len(s.prefix) + s.size }

// Number is the number of a key, the inverse of Append; ok is false for what is
// no key of the space.
func (s Space) Number(key []byte) (number uint64, ok bool) {
	if len(key) != s.Len() || string(key[:len(s.prefix)]) != s.prefix {
		return 0, false
	}
	for _, x := range key[len(s.prefix):] {
		digit, base := uint64(digitOf[x]), uint64(len(alphabet))
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

// digitOf is the inverse of alphabet; 255 for other bytes.
var digitOf = func() (v [256]byte) {
	for i := range v {
		v[i] = 255
	}
	for i := range len(alphabet) {
		v[alphabet[i]] = byte(i)
	}
	return v
}()

// Append appends the key with the given number, below N.
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
