package etcd

import "google.golang.org/protobuf/encoding/protowire"

// Wire types: the low three bits of a field's tag. The parsed tags are always single bytes, because
// every field that the codec parses has a number below 16.
const (
	pbVarint = 0
	pbBytes  = 2
)

// The functions below parse protobuf without copying. Each parses b starting at index i, and
// returns the index after the part that it parsed, or -1 if the message is malformed.

// getVarint reads a varint.
func getVarint(b []byte, i int) (v uint64, next int) {
	for shift := uint(0); i < len(b); shift += 7 {
		x := b[i]
		i++
		if shift == 63 && x > 1 {
			return 0, -1 // more than 64 bits
		}
		v |= uint64(x&0x7f) << shift
		if x < 0x80 {
			return v, i
		}
	}
	return 0, -1
}

// getBytes reads a length and then that number of bytes. The returned slice refers to b.
func getBytes(b []byte, i int) (v []byte, next int) {
	var n uint64
	if i < len(b) && b[i] < 0x80 { // nearly always
		n, i = uint64(b[i]), i+1
	} else if n, i = getVarint(b, i); i < 0 {
		return nil, -1
	}
	if n > uint64(len(b)-i) {
		return nil, -1
	}
	end := i + int(n)
	return b[i:end:end], end
}

// skipField skips a field. i is the index of the field's tag.
func skipField(b []byte, i int) (next int) {
	_, _, n := protowire.ConsumeField(b[i:])
	if n < 0 {
		return -1
	}
	return i + n
}

// fields iterates over the fields of a message. The values of byte fields refer to the message.
//
//	for f := (fields{b: b}); f.next(); {
//		switch f.tag { ... }
//	}
type fields struct {
	b   []byte
	i   int    // index of the next field; -1 if the message is malformed
	tag byte   // tag of the current field; 0 if the field was skipped
	n   uint64 // value of the current field, if it is a pbVarint
	v   []byte // value of the current field, if it is a pbBytes
}

// next moves to the next field. It returns false at the end of the message, and if the message
// is malformed.
func (f *fields) next() bool {
	b, i := f.b, f.i
	if uint(i) >= uint(len(b)) { // also true if i is -1
		return false
	}
	tag := b[i]
	i++
	form := tag & 0x87
	if tag < 1<<3 {
		form = 0xff // 0 is not a valid field number
	}
	switch f.tag = tag; form {
	case pbVarint:
		if i < len(b) && b[i] < 0x80 { // nearly always
			f.n, f.i = uint64(b[i]), i+1
			return true
		}
		f.n, f.i = getVarint(b, i)
	case pbBytes:
		f.v, f.i = getBytes(b, i)
	default:
		f.tag, f.i = 0, skipField(b, i-1)
	}
	return f.i >= 0
}

// must marks the message as malformed if ok is false. ok is the result of parsing the value of
// a field.
func (f *fields) must(ok bool) {
	if !ok {
		f.i = -1
	}
}

// ok reports whether all fields so far were well-formed.
func (f *fields) ok() bool { return f.i >= 0 }
