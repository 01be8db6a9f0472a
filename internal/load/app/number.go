package app

// Digits is the number of decimal digits that a number in a key has. Because the number of digits
// is fixed, all keys of an application have the same length and are sorted by their numbers.
const Digits = 6

// AppendNumber appends a number below one million as Digits digits.
func AppendNumber(b []byte, n uint32) []byte {
	at := len(b)
	b = append(b, "000000"[:Digits]...)
	for i := len(b) - 1; i >= at; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
	return b
}

// ReadNumber returns the number that AppendNumber appended. ok is false if b contains a byte that
// is not a digit.
func ReadNumber(b []byte) (n uint32, ok bool) {
	for _, d := range b {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = 10*n + uint32(d-'0')
	}
	return n, true
}
