package app

// Digits is how many a number has in a key: with as many all keys of an application are
// of one length, and in the order of their numbers.
const Digits = 6

// AppendNumber appends a number below a million with six digits.
func AppendNumber(b []byte, n uint32) []byte {
	at := len(b)
	b = append(b, "000000"[:Digits]...)
	for i := len(b) - 1; i >= at; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
	return b
}

// ReadNumber is the number that AppendNumber appended; not ok for anything but digits.
func ReadNumber(b []byte) (n uint32, ok bool) {
	for _, d := range b {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = 10*n + uint32(d-'0')
	}
	return n, true
}
