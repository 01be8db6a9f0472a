package httpkv

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/store"
)

// TrimSlash returns a key without its leading slash: in a path the key follows a slash
// in either case.
func TrimSlash(key []byte) []byte {
	if len(key) > 0 && key[0] == '/' {
		return key[1:]
	}
	return key
}

// Interval holds the bare keys that a Range requests, for a store that lists only
// by prefix or folder and without a limit: the parser skips keys outside of the
// interval.
type Interval struct {
	From, To []byte // an empty To means no end
	Limit    int64  // 0 for all
	Cut      bool   // the operation's key begins with a slash, which From omits
}

// want stores an operation's interval.
func (i *Interval) want(op *store.Op) {
	i.Limit = op.Range.Limit
	i.From = append(i.From[:0], TrimSlash(op.Key)...)
	i.To = append(i.To[:0], TrimSlash(op.Range.End)...)
	if string(op.Range.End) == "\x00" {
		i.To = i.To[:0]
	}
}

// AsSpelled returns a bare key of the interval as the operation spells it. If that
// needs memory, the spelling is appended to buf, which is returned as rest.
func (i *Interval) AsSpelled(buf, key []byte) (spelt, rest []byte) {
	if !i.Cut {
		return key, buf
	}
	at := len(buf)
	buf = append(append(buf, '/'), key...)
	return buf[at:], buf
}

// Contains reports whether a bare key is in the interval.
func (i *Interval) Contains(key []byte) bool {
	return bytes.Compare(key, i.From) >= 0 && (len(i.To) == 0 || bytes.Compare(key, i.To) < 0)
}
