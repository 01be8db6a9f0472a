package h2

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

// This file encodes the header blocks of requests (RFC 7541). The header fields of a method rarely
// change. So the encoder encodes the method's header block only once, as references to entries of
// the dynamic table. Later calls copy this block.
const (
	maxEncoderTable = 4096 // maximum size of the dynamic table, even if the server allows more
	minEncoderTable = 1024 // minimum size at which the encoder uses the dynamic table
)

// Method identifies a gRPC method that was registered on a connection.
type Method int

// method is a registered method.
type method struct {
	path         string
	metadata     bool
	methodFields []hpack.HeaderField // header fields for this method only
	// frames contains the bytes that precede a message: a HEADERS frame, the header of a DATA frame
	// and the message's prefix. Call fills in the stream ID and the lengths.
	frames []byte
	gen    uint32 // frames is valid if gen equals the encoder's gen
}

// encoder encodes header fields and tracks the state of the server's dynamic table.
type encoder struct {
	beforePath []hpack.HeaderField // fields of every call that precede the path
	afterPath  []hpack.HeaderField // fields of every call that follow the path
	metadata   []hpack.HeaderField // fields of every call of a method with metadata

	hpack *hpack.Encoder // writes to block
	block *bytes.Buffer
	limit uint32 // size of the dynamic table, in bytes
	gen   uint32 // incremented when the table or the metadata changes
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

// appendBlock appends the header block for a call of a method. changesTable is true if the block
// changed the dynamic table. Such a block must not be reused.
func (e *encoder) appendBlock(b []byte, m *method) (_ []byte, changesTable bool) {
	e.block.Reset()
	add := func(fields ...hpack.HeaderField) {
		for _, f := range fields {
			// If the table is too small for all fields, every block would evict entries that the
			// next block needs. So do not index large fields, and index no fields at all if the
			// table is small.
			f.Sensitive = e.limit < minEncoderTable || f.Size() > e.limit/4
			at := e.block.Len()
			_ = e.hpack.WriteField(f) // writing to a buffer cannot fail
			// The first bits show whether the encoded field changes the table. A reference does
			// not, but a literal with indexing or a table size update does.
			if first := e.block.Bytes()[at]; first&0x80 == 0 && first&0x60 != 0 {
				changesTable = true
				e.gen++
			}
		}
	}
	add(e.beforePath...)
	add(hpack.HeaderField{Name: ":path", Value: m.path})
	add(e.afterPath...)
	add(m.methodFields...)
	if m.metadata {
		add(e.metadata...)
	}
	return append(b, e.block.Bytes()...), changesTable
}

// setMetadata sets a header field for every call of the methods that were registered with metadata.
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
