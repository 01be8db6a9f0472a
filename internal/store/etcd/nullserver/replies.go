package nullserver

import (
	"strconv"

	"google.golang.org/grpc/status"

	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// replyHeaders encodes the header blocks of replies. The first reply of a
// connection adds its fields to the client's table; later header blocks take two
// bytes, and trailers one, the minimum in HPACK.
type replyHeaders struct {
	typeKnown   bool // the table holds content-type
	statusKnown bool // the table holds grpc-status, before content-type
	plain       bool // the client's table is too small: encode all fields in full
	emptied     bool // the client has been informed that the table stays empty
}

// Pieces of header blocks (RFC 7541, section 6 and appendix A).
const (
	status200        = "\x88" // :status: 200 is in the static table
	indexContentType = "\x5f" // the name is in the static table; added to the dynamic table
	fullContentType  = "\x0f\x10"
	contentType      = "\x10application/grpc"
	addGRPCStatus    = "\x40\x0bgrpc-status\x010"
	fullGRPCStatus   = "\x00\x0bgrpc-status\x010"
	emptyTable       = "\x20"
	// The latest entry has the lowest index in the dynamic table.
	newest = "\xbe"
	second = "\xbf"
)

// appendStart appends the HEADERS frame that begins an answer.
func (r *replyHeaders) appendStart(b []byte, stream uint32) []byte {
	block := status200 + second
	switch {
	case r.plain && !r.emptied:
		r.emptied = true
		block = emptyTable + status200 + fullContentType + contentType
	case r.plain:
		block = status200 + fullContentType + contentType
	case !r.typeKnown:
		r.typeKnown = true
		block = status200 + indexContentType + contentType
	case !r.statusKnown:
		block = status200 + newest
	}
	b = h2.AppendFrameHeader(b, len(block), h2.FrameHeaders, h2.FlagEndHeaders, stream)
	return append(b, block...)
}

// appendEnd appends the HEADERS frame that ends a successful reply.
func (r *replyHeaders) appendEnd(b []byte, stream uint32) []byte {
	block := newest
	switch {
	case r.plain && !r.emptied: // the table shrank during the reply
		r.emptied = true
		block = emptyTable + fullGRPCStatus
	case r.plain:
		block = fullGRPCStatus
	case !r.statusKnown:
		r.statusKnown = true
		block = addGRPCStatus
	}
	b = h2.AppendFrameHeader(b, len(block), h2.FrameHeaders, h2.FlagEndHeaders|h2.FlagEndStream, stream)
	return append(b, block...)
}

// appendError appends a reply that consists only of an error ("Trailers-Only" in
// gRPC over HTTP/2).
func (r *replyHeaders) appendError(b []byte, stream uint32, err error) []byte {
	s := status.Convert(err)
	at := len(b)
	b = h2.AppendFrameHeader(b, 0, h2.FrameHeaders, h2.FlagEndHeaders|h2.FlagEndStream, stream)
	if r.plain && !r.emptied {
		r.emptied = true
		b = append(b, emptyTable...)
	}
	b = append(b, status200+fullContentType+contentType...)
	b = append(b, "\x00\x0bgrpc-status"...)
	b = appendHeaderString(b, strconv.Itoa(int(s.Code())))
	b = append(b, "\x00\x0cgrpc-message"...)
	b = appendHeaderString(b, s.Message())
	size := len(b) - at - h2.FrameHeaderLen
	b[at+1], b[at+2] = byte(size>>8), byte(size)
	return b
}

// appendHeaderString appends an HPACK string shorter than 127 bytes without
// Huffman coding.
func appendHeaderString(b []byte, s string) []byte {
	b = append(b, byte(len(s)))
	return append(b, s...)
}
