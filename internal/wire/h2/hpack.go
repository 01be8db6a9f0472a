package h2

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

// The encoder of requests' header blocks (RFC 7541). The header fields of a method rarely change,
// so its block is encoded once, as references into the dynamic table, and later copied.
const (
	maxEncoderTable = 4096 // the encoder uses at most this many bytes of the server's table
	minEncoderTable = 1024 // the encoder does not use a smaller table
)

// Method identifies a gRPC method of a connection.
type Method int

// method is a registered method.
type method struct {
	path     string
	metadata bool
	own      []hpack.HeaderField // header fields of this method only
	// frames has the bytes before a message: a HEADERS frame, the header of a DATA frame and the
	// message's prefix. The stream id and the lengths are filled in later.
	frames []byte
	gen    uint32 // the encoder's gen for which frames is valid
}

// encoder encodes header fields and tracks the server's dynamic table.
type encoder struct {
	beforePath []hpack.HeaderField // fields of every call before its path
	afterPath  []hpack.HeaderField // fields of every call after its path
	metadata   []hpack.HeaderField // fields of every call with metadata

	hpack *hpack.Encoder // writes to block
	block *bytes.Buffer
	limit uint32 // size of the dynamic table, in bytes
	gen   uint32 // changes whenever the table or the metadata changes
}

func newEncoder(authority string, tls bool) encoder {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	block := &bytes.Buffer{}
	return encoder{
		beforePath: []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: scheme}},
		afterPath: []hpack.HeaderField{
			{Name: ":authority", Value: authority}, {Name: "te", Value: "trailers"}, {Name: "content-type", Value: "application/grpc"},
		},
		hpack: hpack.NewEncoder(block), block: block, limit: maxEncoderTable, gen: 1,
	}
}

// resize applies the server's SETTINGS_HEADER_TABLE_SIZE.
func (e *encoder) resize(announced uint32) {
	if limit := min(announced, maxEncoderTable); limit != e.limit {
		e.limit = limit
		e.hpack.SetMaxDynamicTableSize(limit)
		e.gen++
	}
}

// appendBlock appends the header block of a method's call. It returns once if the block changed the
// table, so that the block must not be reused.
func (e *encoder) appendBlock(b []byte, m *method) (_ []byte, once bool) {
	e.block.Reset()
	add := func(fields ...hpack.HeaderField) {
		for _, f := range fields {
			// In a table too small for all fields, every block would evict entries that the next
			// block needs.
			f.Sensitive = e.limit < minEncoderTable || f.Size() > e.limit/4
			at := e.block.Len()
			_ = e.hpack.WriteField(f) // writing to a buffer cannot fail
			// Not an index: a literal to be indexed, or a change of the table size before it.
			if first := e.block.Bytes()[at]; first&0x80 == 0 && first&0x60 != 0 {
				once = true
				e.gen++
			}
		}
	}
	add(e.beforePath...)
	add(hpack.HeaderField{Name: ":path", Value: m.path})
	add(e.afterPath...)
	add(m.own...)
	if m.metadata {
		add(e.metadata...)
	}
	return append(b, e.block.Bytes()...), once
}

// setMetadata sets a field of every call with metadata.
func (e *encoder) setMetadata(name, value string) {
	e.gen++
	field := hpack.HeaderField{Name: name, Value: value}
	for i := range e.metadata {
		if e.metadata[i].Name == name {
			e.metadata[i] = field
			return
		}
	}
	e.metadata = append(e.metadata, field)
}
