package h2

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

// The encoder of our requests' header blocks. A method's header fields hardly
// change, so a block is made once, of references into the dynamic table, and
// copied from then on (RFC 7541).
const (
	maxEncoderTable = 4096 // we never use more of the server's table
	minEncoderTable = 1024 // a smaller one is not used at all
)

// Method is a gRPC method of a connection.
type Method int

// method is a registered method.
type method struct {
	path     string
	metadata bool
	own      []hpack.HeaderField // of its calls alone
	// frames is what precedes a message: a HEADERS frame, the header of a DATA
	// frame and the message's prefix, with stream and lengths left open.
	frames []byte
	gen    uint32 // of the encoder, for which frames is right
}

// encoder knows the fields and what of them is in the server's table.
type encoder struct {
	before   []hpack.HeaderField // of every call, before its path
	behind   []hpack.HeaderField // and behind it
	metadata []hpack.HeaderField // of every call with metadata

	hpack *hpack.Encoder // into block
	block *bytes.Buffer
	limit uint32 // the table's size
	gen   uint32 // changes with every change of the table and of the metadata
}

func newEncoder(authority string, tls bool) encoder {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	block := &bytes.Buffer{}
	return encoder{
		before: []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: scheme}},
		behind: []hpack.HeaderField{
			{Name: ":authority", Value: authority}, {Name: "te", Value: "trailers"}, {Name: "content-type", Value: "application/grpc"},
		},
		hpack: hpack.NewEncoder(block), block: block, limit: maxEncoderTable, gen: 1,
	}
}

// resize follows the server's SETTINGS_HEADER_TABLE_SIZE.
func (e *encoder) resize(announced uint32) {
	if limit := min(announced, maxEncoderTable); limit != e.limit {
		e.limit = limit
		e.hpack.SetMaxDynamicTableSize(limit)
		e.gen++
	}
}

// appendBlock appends the header block of a method's call. A block that changed the
// table serves only once.
func (e *encoder) appendBlock(b []byte, m *method) (_ []byte, once bool) {
	e.block.Reset()
	add := func(fields ...hpack.HeaderField) {
		for _, f := range fields {
			// With a table too small for all fields every block would throw out what
			// the next needs.
			f.Sensitive = e.limit < minEncoderTable || f.Size() > e.limit/4
			at := e.block.Len()
			_ = e.hpack.WriteField(f) // a buffer takes everything
			// No index: a literal to be indexed, or a change of the size before it.
			if first := e.block.Bytes()[at]; first&0x80 == 0 && first&0x60 != 0 {
				once = true
				e.gen++
			}
		}
	}
	add(e.before...)
	add(hpack.HeaderField{Name: ":path", Value: m.path})
	add(e.behind...)
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
