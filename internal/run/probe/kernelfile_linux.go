package probe

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// kernelFile reads small kernel files into one buffer; each read overwrites the contents of the
// previous one. A sample of ten processes reads about a hundred files. Package procfs would
// allocate memory for each file and take three times as long.
type kernelFile struct{ buf []byte }

// maxKernelFileBytes is the maximum number of bytes that are read from a file. This is enough for
// every file that package probe reads, even for /proc/stat on a machine with a thousand processors.
const maxKernelFileBytes = 1 << 20

// read returns the file's contents; ok is false if the file cannot be read.
func (f *kernelFile) read(path string) (b []byte, ok bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer func() { _ = unix.Close(fd) }()
	if f.buf == nil {
		f.buf = make([]byte, 8<<10)
	}
	length := 0
	for length < maxKernelFileBytes {
		if length == len(f.buf) {
			f.buf = append(f.buf, make([]byte, len(f.buf))...)
		}
		n, err := unix.Read(fd, f.buf[length:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, false
		case n == 0:
			return f.buf[:length], true
		default:
			length += n
		}
	}
	return f.buf[:length], true
}

// line removes and returns the first line.
func line(b *[]byte) []byte {
	first, rest, _ := bytes.Cut(*b, []byte{'\n'})
	*b = rest
	return first
}

// word removes and returns the first word, or an empty slice if there is none.
func word(b *[]byte) []byte {
	s := bytes.TrimLeft(*b, " \t\n")
	end := bytes.IndexAny(s, " \t\n")
	if end < 0 {
		end = len(s)
	}
	*b = s[end:]
	return s[:end]
}

// number parses a decimal number. It returns -1 if the text is not a decimal number or has more
// than 18 digits.
func number(digits []byte) (n int64) {
	if len(digits) == 0 || len(digits) > 18 {
		return -1
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int64(c-'0')
	}
	return n
}

// numbers parses the first words of b as numbers and stores the numbers in the slice `all`. It
// stores -1 for a missing word.
func numbers(b []byte, all []int64) {
	for i := range all {
		all[i] = number(word(&b))
	}
}

// findValue returns the number that follows the given name on the line that begins with this name.
// It returns -1 if b contains no such line.
func findValue(b []byte, name string) int64 {
	for len(b) > 0 {
		l := line(&b)
		if string(word(&l)) == name {
			return number(word(&l))
		}
	}
	return -1
}

// toSeconds converts n units to seconds, where `second` is the number of units per second. It
// returns -1 (unknown) if n is negative.
func toSeconds(second float64, n int64) float64 {
	if n < 0 {
		return -1
	}
	return float64(n) / second
}
