package h2

// The encoder of our requests' header blocks. A method's header fields hardly
// change, so a block is made once, of references into the dynamic table, and
// copied from then on (RFC 7541).

const (
	maxEncoderTable = 4096 // we never use more of the server's table
	minEncoderTable = 1024 // a smaller one is not used at all
	firstDynamic    = 62   // index of the newest entry
	fieldOverhead   = 32   // what an entry counts besides its strings
)

// field is a header field of our requests.
type field struct {
	name, value string
	static      byte   // index in the static table of name and value, or 0
	staticName  byte   // index in the static table of the name, or 0
	number      uint64 // of its insertion into the dynamic table; 0: never
}

func (f *field) size() int { return len(f.name) + len(f.value) + fieldOverhead }

// encoder knows the fields and what of them is in the server's table.
type encoder struct {
	fields   []field
	metadata []int // fields that belong to every call with metadata

	limit    int      // the table's size
	used     int      // bytes of it
	sizes    []uint16 // of the entries, the oldest first
	inserted uint64   // entries ever inserted
	gen      uint32   // changes with every insertion and removal
	resizes  []int    // size updates to be sent with the next block
}

const (
	fieldMethod = iota
	fieldScheme
	fieldAuthority
	fieldTE
	fieldContentType
)

func newEncoder(authority string, tls bool) encoder {
	scheme := field{name: ":scheme", value: "http", static: 6}
	if tls {
		scheme = field{name: ":scheme", value: "https", static: 7}
	}
	return encoder{
		limit: maxEncoderTable,
		gen:   1,
		fields: []field{
			fieldMethod:      {name: ":method", value: "POST", static: 3},
			fieldScheme:      scheme,
			fieldAuthority:   {name: ":authority", value: authority, staticName: 1},
			fieldTE:          {name: "te", value: "trailers"},
			fieldContentType: {name: "content-type", value: "application/grpc", staticName: 31},
		},
	}
}

// resize follows the server's SETTINGS_HEADER_TABLE_SIZE.
func (e *encoder) resize(announced uint32) {
	limit := int(min(announced, maxEncoderTable))
	if limit == e.limit {
		return
	}
	e.limit = limit
	e.evict(limit)
	// Only the smallest and the last size have to be sent (section 4.2).
	switch n := len(e.resizes); {
	case n == 2 && limit < e.resizes[0]:
		e.resizes = append(e.resizes[:0], limit)
	case n == 2:
		e.resizes[1] = limit
	case n == 1 && limit < e.resizes[0]:
		e.resizes[0] = limit
	default:
		e.resizes = append(e.resizes, limit)
	}
	e.gen++
}

// evict removes the oldest entries until the table has at most size bytes.
func (e *encoder) evict(size int) {
	n := 0
	for ; e.used > size; n++ {
		e.used -= int(e.sizes[n])
	}
	e.sizes = append(e.sizes[:0], e.sizes[n:]...)
	if n > 0 {
		e.gen++
	}
}

// inTable reports whether the entry with the insertion number is still there.
func (e *encoder) inTable(number uint64) bool {
	return number > e.inserted-uint64(len(e.sizes))
}

// worthIt reports whether a field is to be inserted: with a table too small
// for all fields every block would throw out what the next needs.
func (e *encoder) worthIt(f *field) bool {
	return e.limit >= minEncoderTable && f.size() <= e.limit/4
}

// appendField appends the field's representation. It reports whether that
// changed the table.
func (e *encoder) appendField(b []byte, f *field) (_ []byte, changed bool) {
	switch {
	case f.static != 0:
		return append(b, 0x80|f.static), false
	case f.number != 0 && e.inTable(f.number):
		return appendInt(b, 0x80, 7, firstDynamic+int(e.inserted-f.number)), false
	case e.worthIt(f):
		b = appendLiteral(b, 0x40, 6, f)
		e.evict(e.limit - f.size())
		e.sizes = append(e.sizes, uint16(f.size()))
		e.used += f.size()
		e.inserted++
		e.gen++
		f.number = e.inserted
		return b, true
	}
	return appendLiteral(b, 0x00, 4, f), false
}

// appendBlock appends the header block of a call with the path field and, if
// wanted, the metadata. A block that changed the table serves only once.
func (e *encoder) appendBlock(b []byte, path int, metadata bool) (_ []byte, once bool) {
	for _, size := range e.resizes {
		b = appendInt(b, 0x20, 5, size)
		once = true
	}
	e.resizes = e.resizes[:0]
	add := func(i int) {
		var changed bool
		b, changed = e.appendField(b, &e.fields[i])
		once = once || changed
	}
	for _, i := range [...]int{fieldMethod, fieldScheme, path, fieldAuthority, fieldTE, fieldContentType} {
		add(i)
	}
	if metadata {
		for _, i := range e.metadata {
			add(i)
		}
	}
	return b, once
}

// setMetadata sets a field of every call with metadata.
func (e *encoder) setMetadata(name, value string) {
	e.gen++
	for _, i := range e.metadata {
		if e.fields[i].name == name {
			e.fields[i] = field{name: name, value: value}
			return
		}
	}
	e.fields = append(e.fields, field{name: name, value: value})
	e.metadata = append(e.metadata, len(e.fields)-1)
}

// appendInt appends an integer after the bits of first (section 5.1).
func appendInt(b []byte, first byte, bits uint, n int) []byte {
	full := 1<<bits - 1
	if n < full {
		return append(b, first|byte(n))
	}
	b = append(b, first|byte(full))
	for n -= full; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// appendLiteral appends a literal field (section 6.2), without Huffman coding.
func appendLiteral(b []byte, first byte, bits uint, f *field) []byte {
	b = appendInt(b, first, bits, int(f.staticName))
	if f.staticName == 0 {
		b = appendString(b, f.name)
	}
	return appendString(b, f.value)
}

func appendString(b []byte, s string) []byte {
	return append(appendInt(b, 0, 7, len(s)), s...)
}
