package call

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// Veil makes of keys and values what is recorded of them. Hashes are of a secret that
// nobody keeps: the same key has the same hash within a recording and no other, and
// none can be guessed afterwards. The zero value hashes nothing. A Veil may be used by
// several goroutines.
//
// It is SHA-256 and nothing shorter: who has a recording may try keys for as long as he
// likes, and where the processor has instructions for it the hashes of a call take about
// 1 µs, of some 25 that passing it on takes.
type Veil struct{ secret []byte }

// NewVeil returns a veil with a secret of its own.
func NewVeil() *Veil {
	v := &Veil{secret: make([]byte, 32)}
	_, _ = rand.Read(v.secret) // never fails
	return v
}

// Plain reports that nothing is hashed.
func (v *Veil) Plain() bool { return len(v.secret) == 0 }

// separator divides a key into segments, which are hashed apart: so prefixes that end
// with it stay prefixes.
const separator = '/'

// shortest is the length of the hash of a shorter segment: 66 bits, so that no two
// segments are taken for one. That of a longer one is as long as it.
const shortest = 11

// Key is what is recorded of a key. Bytes of 0 at its end stay: they make of a key the
// first that comes after it.
func (v *Veil) Key(key []byte) []byte {
	if v.Plain() {
		return bytes.Clone(key)
	}
	name := bytes.TrimRight(key, "\x00")
	out := make([]byte, 0, len(key)+2*shortest)
	for rest := name; ; {
		segment, behind, more := bytes.Cut(rest, []byte{separator})
		out = v.segment(out, segment)
		if !more {
			break
		}
		out, rest = append(out, separator), behind
	}
	return append(out, key[len(name):]...)
}

// segment appends the hash of a segment, of its length at least.
func (v *Veil) segment(out, segment []byte) []byte {
	if len(segment) == 0 {
		return out
	}
	var room [256]byte
	hash := sha256.Sum256(append(append(room[:0], v.secret...), segment...))
	for left := max(len(segment), shortest); ; hash = sha256.Sum256(hash[:]) {
		var text [43]byte // of a hash
		base64.RawURLEncoding.Encode(text[:], hash[:])
		n := min(left, len(text))
		out = append(out, text[:n]...)
		if left -= n; left == 0 {
			return out
		}
	}
}

// Value is what is recorded of a value.
func (v *Veil) Value(value []byte) Value {
	out := Value{Size: len(value)}
	if v.Plain() {
		out.Text = append([]byte{}, value...)
		hash := sha256.Sum256(value)
		out.Hash = binary.LittleEndian.Uint64(hash[:])
		return out
	}
	var room [512]byte
	const most = 200
	b := binary.LittleEndian.AppendUint64(append(room[:0], v.secret...), uint64(len(value)))
	if len(value) <= 2*most {
		b = append(b, value...)
	} else {
		whole := sha256.Sum256(value)
		b = append(b, whole[:]...)
	}
	hash := sha256.Sum256(b)
	out.Hash = binary.LittleEndian.Uint64(hash[:])
	return out
}

// Keys sets which keys a part is of: those from key on to before end; end may be
// empty, and then it is key alone.
func (v *Veil) Keys(p *Part, key, end []byte) {
	p.Key = v.Key(key)
	n := len(end)
	switch {
	case n == 0:
		p.Scope = One
	case bytes.Equal(end, After(key)):
		p.Scope = Prefix
		if len(key) > 0 && key[len(key)-1] != separator {
			p.Flags |= MidSegment
		}
	case end[n-1] == separator+1 && len(key) >= n && bytes.Equal(key[:n-1], end[:n-1]) && key[n-1] == separator:
		p.Scope, p.End = Rest, v.Key(key[:n])
	default:
		p.Scope, p.End = Interval, v.Key(end)
	}
}

// After is the first key after all that begin with a prefix: nil if there is none.
func After(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}
