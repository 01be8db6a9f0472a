package probe

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// kernelFile reads small files of the kernel into one buffer, which it uses again:
// each read replaces the last. To sample ten processes takes some hundred files a
// second, which package procfs, with its allocations, takes three times as long for.
type kernelFile struct{ buf []byte }

// mostKernelFile bounds what is read of a file: above any that we ask for, such as
// /proc/stat of a thousand processors.
const mostKernelFile = 1 << 20

// read returns the file's bytes; ok is false if it cannot be read.
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
	for length < mostKernelFile {
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

// line cuts the first line off.
func line(b *[]byte) []byte {
	first, rest, _ := bytes.Cut(*b, []byte{'\n'})
	*b = rest
	return first
}

// word cuts the first word off, which blanks end; empty if there is none.
func word(b *[]byte) []byte {
	s := bytes.TrimLeft(*b, " \t\n")
	end := bytes.IndexAny(s, " \t\n")
	if end < 0 {
		end = len(s)
	}
	*b = s[end:]
	return s[:end]
}

// number is a count of the kernel's in decimal digits; -1 for anything else, and
// for more than an int64 holds.
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

// numbers reads the next words into all; those that are not there are -1.
func numbers(b []byte, all []int64) {
	for i := range all {
		all[i] = number(word(&b))
	}
}

// valueOf is the number that stands behind a word which begins a line; -1 if none
// does.
func valueOf(b []byte, name string) int64 {
	for len(b) > 0 {
		l := line(&b)
		if string(word(&l)) == name {
			return number(word(&l))
		}
	}
	return -1
}

// per is a count in a unit of which one second has so many; unknown stays so.
func per(second float64, n int64) float64 {
	if n < 0 {
		return -1
	}
	return float64(n) / second
}
