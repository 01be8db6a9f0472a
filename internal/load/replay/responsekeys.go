package replay

import (
	"bytes"
)

// responseKeys stores the keys from each response that contains several keys, until the response
// has been handled. It implements store.Keys.
type responseKeys struct {
	bytes []byte
	keys  []responseKey
}

type responseKey struct {
	tag      uint32
	from, to int
	version  int64
}

// Begin implements store.Keys.
func (h *responseKeys) Begin(tag uint32) bool {
	h.drop(tag)
	return false
}

// Add implements store.Keys.
func (h *responseKeys) Add(tag uint32, key, _ []byte, version int64) {
	from := len(h.bytes)
	h.bytes = append(h.bytes, key...)
	h.keys = append(h.keys, responseKey{tag, from, len(h.bytes), version})
}

func (h *responseKeys) contains(tag uint32) bool {
	for i := range h.keys {
		if h.keys[i].tag == tag {
			return true
		}
	}
	return false
}

// version returns the version of a key in a response, or 0 if it is unknown. `key` is the recorded
// key, to which the replay adds `prefix`.
func (h *responseKeys) version(tag uint32, prefix string, key []byte) int64 {
	for i := range h.keys {
		k := &h.keys[i]
		if k.tag != tag {
			continue
		}
		b := bytes.TrimPrefix(h.bytes[k.from:k.to], slash)
		if len(prefix) > 0 && prefix[0] == '/' {
			prefix = prefix[1:]
		}
		if len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix && bytes.Equal(b[len(prefix):], key) {
			return k.version
		}
	}
	return 0
}

var slash = []byte{'/'}

// drop removes the keys of a response. It moves the remaining keys to the start of the memory.
// Otherwise the memory would grow without limit, because if operations are in flight at all times,
// the list never becomes empty.
func (h *responseKeys) drop(tag uint32) {
	left, end := h.keys[:0], 0
	for _, k := range h.keys {
		if k.tag != tag {
			n := copy(h.bytes[end:], h.bytes[k.from:k.to])
			k.from, k.to = end, end+n
			left, end = append(left, k), end+n
		}
	}
	h.keys, h.bytes = left, h.bytes[:end]
}
