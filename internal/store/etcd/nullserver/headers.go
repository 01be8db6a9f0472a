package nullserver

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

// tableSize is the size of the HPACK table that a client may use. It is HPACK's default.
const tableSize = 4096

// maxRemembered limits the number of remembered header blocks. The limit is larger than the number
// of different kinds of requests in one load.
const maxRemembered = 16

func newRequestHeaders() *requestHeaders {
	h := &requestHeaders{}
	h.decoder = hpack.NewDecoder(tableSize, func(f hpack.HeaderField) {
		switch f.Name {
		case ":path":
			h.current.method = methodOf(f.Value)
		case "token":
			h.current.token = tokenWrong
			if f.Value == token {
				h.current.token = tokenRight
			}
		}
	})
	h.decoder.SetMaxStringLength(maxHeaders)
	return h
}

// decode decodes a complete header block.
func (h *requestHeaders) decode(block []byte) (call, error) {
	for i := range h.memo {
		if m := &h.memo[i]; bytes.Equal(m.block, block) {
			return m.call, nil
		}
	}
	h.current = call{}
	if _, err := h.decoder.Write(block); err != nil {
		return call{}, err
	}
	if err := h.decoder.Close(); err != nil {
		return call{}, err
	}
	if changesTable(block) {
		h.memo = h.memo[:0]
	} else {
		h.remember(block)
	}
	return h.current, nil
}

func (h *requestHeaders) remember(block []byte) {
	if len(h.memo) < maxRemembered {
		h.memo = append(h.memo, remembered{})
		h.nextMemo = len(h.memo) - 1
	}
	m := &h.memo[h.nextMemo]
	m.block = append([]byte(nil), block...)
	m.call = h.current
	h.nextMemo = (h.nextMemo + 1) % maxRemembered
}

// changesTable reports whether a block adds an entry to the table or changes the table's size
// (RFC 7541, section 6). The block must be well-formed; the caller has decoded it before.
func changesTable(block []byte) bool {
	for len(block) > 0 {
		switch b := block[0]; {
		case b&0x80 != 0: // a field that refers to a table entry
			_, block = integer(block, 7)
		case b&0x40 != 0, b&0x20 != 0: // a literal field that is added to the table, or a change of the table's size
			return true
		default: // a literal field that is not added to the table
			index, rest := integer(block, 4)
			if block = rest; index == 0 {
				block = afterString(block)
			}
			block = afterString(block)
		}
	}
	return false
}

// integer decodes an integer that has a prefix of n bits (RFC 7541, section 5.1).
func integer(b []byte, n uint) (v int, rest []byte) {
	mask := 1<<n - 1
	v = int(b[0]) & mask
	b = b[1:]
	if v < mask {
		return v, b
	}
	for shift := 0; len(b) > 0; shift += 7 {
		c := b[0]
		b = b[1:]
		v += int(c&0x7f) << min(shift, 28)
		if c&0x80 == 0 {
			break
		}
	}
	return v, b
}

// afterString returns the bytes that follow a string (RFC 7541, section 5.2).
func afterString(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	n, rest := integer(b, 7)
	if n > len(rest) {
		return nil
	}
	return rest[n:]
}
