package measure

import (
	"fmt"
	"math/bits"
)

// Milliseconds is a set of the milliseconds within one second. If the set contains the millisecond
// ms, bit ms%64 of word ms/64 is set.
type Milliseconds [16]uint64

// millisecondAt returns the millisecond that contains a time in nanoseconds since the start of the
// second. A time outside the second counts as its first or last millisecond.
func millisecondAt(at int64) int64 { return min(max(at/1_000_000, 0), 999) }

// Add adds the millisecond that contains a time in nanoseconds since the start of the second.
func (m *Milliseconds) Add(at int64) {
	ms := millisecondAt(at)
	m[ms>>6] |= 1 << (ms & 63)
}

// merge adds all milliseconds of o.
func (m *Milliseconds) merge(o *Milliseconds) {
	for i, word := range o {
		m[i] |= word
	}
}

// millisecondDigits is the number of hexadecimal digits in the text of a set.
const millisecondDigits = 1000 / 4

// MarshalText encodes the set as 250 hexadecimal digits. Each digit represents 4 milliseconds, the
// earliest first. The highest bit of a digit represents the earliest of its milliseconds.
//
// Example: the text of the set {0, 5} begins with "84".
func (m Milliseconds) MarshalText() ([]byte, error) {
	const digits = "0123456789abcdef"
	b := make([]byte, millisecondDigits)
	for i := range b {
		nibble := uint8(m[i>>4] >> (i & 15 << 2) & 15) // #nosec G115 -- four bits
		b[i] = digits[bits.Reverse8(nibble)>>4]
	}
	return b, nil
}

// UnmarshalText decodes the text of a set. It returns an error if the text does not consist of 250
// hexadecimal digits.
func (m *Milliseconds) UnmarshalText(b []byte) error {
	if len(b) != millisecondDigits {
		return fmt.Errorf("a set of milliseconds has %d digits instead of %d", len(b), millisecondDigits)
	}
	*m = Milliseconds{}
	for i, digit := range b {
		switch {
		case digit >= '0' && digit <= '9':
			digit -= '0'
		case digit >= 'a' && digit <= 'f':
			digit -= 'a' - 10
		default:
			return fmt.Errorf("%q in a set of milliseconds is not a hexadecimal digit", digit)
		}
		m[i>>4] |= uint64(bits.Reverse8(digit)>>4) << (i & 15 << 2)
	}
	return nil
}
