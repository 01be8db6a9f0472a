package jute

import "encoding/binary"

// The Put functions write one value to the beginning of b, which must be long enough, and return
// the rest of b.

// PutInt writes a 32-bit integer.
func PutInt(b []byte, v int32) []byte {
	binary.BigEndian.PutUint32(b, uint32(v))
	return b[4:]
}

// PutLong writes a 64-bit integer.
func PutLong(b []byte, v int64) []byte {
	binary.BigEndian.PutUint64(b, uint64(v))
	return b[8:]
}

// PutBool writes a boolean.
func PutBool(b []byte, v bool) []byte {
	b[0] = 0
	if v {
		b[0] = 1
	}
	return b[1:]
}

// PutBuffer writes the length of v and then its bytes. The protocol distinguishes an empty buffer
// from a missing one; PutBuffer encodes nil as an empty buffer.
func PutBuffer[T ~string | ~[]byte](b []byte, v T) []byte {
	b = PutInt(b, int32(len(v)))
	return b[copy(b, v):]
}

// SizeBuffer returns the number of bytes that PutBuffer writes.
func SizeBuffer[T ~string | ~[]byte](v T) int { return 4 + len(v) }

// AppendBuffer appends the bytes that PutBuffer writes.
func AppendBuffer[T ~string | ~[]byte](b []byte, v T) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
	return append(b, v...)
}

// Path is a node's path in two parts, so that the caller need not concatenate the parts before
// writing.
type Path struct {
	Prefix string
	Rest   []byte
}

func (p Path) size() int { return 4 + len(p.Prefix) + len(p.Rest) }

func (p Path) appendTo(b []byte) []byte {
	b = PutInt(b, int32(len(p.Prefix)+len(p.Rest)))
	b = b[copy(b, p.Prefix):]
	return b[copy(b, p.Rest):]
}

// Reader parses values without copying them. If bytes are missing or a length is impossible, the
// reader fails, and all further calls return zero values.
type Reader struct {
	b      []byte
	failed bool
}

// NewReader returns a Reader that parses b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// OK reports whether all reads so far succeeded.
func (r *Reader) OK() bool { return !r.failed }

// Rest returns the bytes that have not been read yet.
func (r *Reader) Rest() []byte { return r.b }

func (r *Reader) next(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.failed, r.b = true, nil
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

// Int reads a 32-bit integer.
func (r *Reader) Int() int32 {
	if p := r.next(4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

// Long reads a 64-bit integer.
func (r *Reader) Long() int64 {
	if p := r.next(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

// Bool reads a boolean.
func (r *Reader) Bool() bool {
	p := r.next(1)
	return p != nil && p[0] != 0
}

// Buffer reads a buffer or string. The result is a part of the reader's input. It is nil if the
// encoded length is -1.
func (r *Reader) Buffer() []byte {
	n := r.Int()
	if n == -1 {
		return nil
	}
	return r.next(int(n))
}

// Count reads the length of a vector. It fails if the rest of the input is too short for that many
// elements of at least `size` bytes each.
func (r *Reader) Count(size int) int {
	n := int(r.Int())
	if n == -1 {
		return 0
	}
	if n < 0 || n > len(r.b)/size {
		r.failed, r.b = true, nil
		return 0
	}
	return n
}

// Stat holds the fields of a node's Stat that this program uses.
type Stat struct {
	Czxid, Mzxid   int64 // zxids of the transactions that created and last changed the node
	Version        int32 // how often the data was changed since the node was created
	EphemeralOwner int64 // ID of the session that owns the node, or 0
	DataLength     int32
	NumChildren    int32
}

// StatLen is the size of an encoded Stat, in bytes.
const StatLen = 6*8 + 5*4

// Stat reads a Stat: czxid, mzxid, ctime, mtime, version, cversion, aversion, ephemeralOwner,
// dataLength, numChildren, pzxid.
func (r *Reader) Stat() (s Stat) {
	p := r.next(StatLen)
	if p == nil {
		return s
	}
	long := func(i int) int64 { return int64(binary.BigEndian.Uint64(p[i:])) }
	number := func(i int) int32 { return int32(binary.BigEndian.Uint32(p[i:])) }
	return Stat{
		Czxid: long(0), Mzxid: long(8), Version: number(32), EphemeralOwner: long(44),
		DataLength: number(52), NumChildren: number(56),
	}
}
