package httpkv

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/store"
)

// TrimSlash returns a key without its leading slash. A request's path always has a slash before
// the key.
func TrimSlash(key []byte) []byte {
	if len(key) > 0 && key[0] == '/' {
		return key[1:]
	}
	return key
}

// Interval is the interval of keys that a Range requests. Its keys have no leading slash. Some
// stores can list only all keys of a prefix or folder, without a limit. For these stores, the
// parser skips keys that are outside the interval.
type Interval struct {
	From, To     []byte // an empty To means that the interval has no end
	Limit        int64  // maximum number of keys; 0 for all keys
	SlashTrimmed bool   // the operation's key starts with a slash, which From does not contain
}

// set stores the interval that an operation requests.
func (i *Interval) set(op *store.Op) {
	i.Limit = op.Range.Limit
	i.From = append(i.From[:0], TrimSlash(op.Key)...)
	i.To = append(i.To[:0], TrimSlash(op.Range.End)...)
	if string(op.Range.End) == "\x00" {
		i.To = i.To[:0]
	}
}

// RestoreSlash returns a key in the operation's spelling: with a leading slash if SlashTrimmed is
// set. If RestoreSlash adds a slash, it appends the key to buf. The result `rest` is buf with the
// appended key, if any.
func (i *Interval) RestoreSlash(buf, key []byte) (spelled, rest []byte) {
	if !i.SlashTrimmed {
		return key, buf
	}
	at := len(buf)
	buf = append(append(buf, '/'), key...)
	return buf[at:], buf
}

// Contains reports whether a key without its leading slash is in the interval.
func (i *Interval) Contains(key []byte) bool {
	return bytes.Compare(key, i.From) >= 0 && (len(i.To) == 0 || bytes.Compare(key, i.To) < 0)
}
