package httpkv

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Bare is a key without a slash at its beginning: it stands behind one in a
// path, whether it was given with it or not.
func Bare(key []byte) []byte {
	if len(key) > 0 && key[0] == '/' {
		return key[1:]
	}
	return key
}

// Interval is the bare keys that a Range asks for, of a store that lists by
// prefix or folder alone and knows no limit: what lies outside is passed over
// when the answer comes.
type Interval struct {
	From, To []byte // To is empty for no end
	Limit    int64  // 0 for all
	Cut      bool   // the operation's key begins with a slash, which is left out
}

// want keeps an operation's interval.
func (i *Interval) want(op *store.Op) {
	i.Limit = op.Range.Limit
	i.From = append(i.From[:0], Bare(op.Key)...)
	i.To = append(i.To[:0], Bare(op.Range.End)...)
	if string(op.Range.End) == "\x00" {
		i.To = i.To[:0]
	}
}

// Spelt is a bare key of the interval as the operation spells it; where that is
// longer it is appended to buf, which is returned.
func (i *Interval) Spelt(buf, key []byte) (spelt, rest []byte) {
	if !i.Cut {
		return key, buf
	}
	at := len(buf)
	buf = append(append(buf, '/'), key...)
	return buf[at:], buf
}

// Holds reports whether a bare key lies in the interval.
func (i *Interval) Holds(key []byte) bool {
	return bytes.Compare(key, i.From) >= 0 && (len(i.To) == 0 || bytes.Compare(key, i.To) < 0)
}
