package app

// uuidSize is the length of the text of a UUID.
const uuidSize = 36

const hexadecimal = "0123456789abcdef"

// isDash reports whether the text of a UUID has a dash at the given index.
func isDash(i int) bool { return i == 8 || i == 13 || i == 18 || i == 23 }

// AppendUUID appends the text of the UUID with the given halves.
func AppendUUID(b []byte, high, low int64) []byte {
	halves := [2]uint64{uint64(high), uint64(low)} // #nosec G115 -- all bits are kept
	digit := 0
	for i := range uuidSize {
		if isDash(i) {
			b = append(b, '-')
			continue
		}
		b = append(b, hexadecimal[halves[digit/16]>>(60-4*(digit%16))&0xf])
		digit++
	}
	return b
}

// ParseUUID returns the two halves of a UUID that is written in lower case. It returns 0, 0 for
// other text.
func ParseUUID(text []byte) (high, low int64) {
	if len(text) != uuidSize {
		return 0, 0
	}
	var halves [2]uint64
	digits := 0
	for i, c := range text {
		digit := uint64(0)
		switch {
		case isDash(i) && c == '-':
			continue
		case isDash(i):
			return 0, 0
		case c >= '0' && c <= '9':
			digit = uint64(c - '0')
		case c >= 'a' && c <= 'f':
			digit = uint64(c-'a') + 10
		default:
			return 0, 0
		}
		halves[digits/16] = halves[digits/16]<<4 | digit
		digits++
	}
	return int64(halves[0]), int64(halves[1]) // #nosec G115 -- all bits are kept
}
