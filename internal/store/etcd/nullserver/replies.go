package nullserver

import (
	"strconv"

	"google.golang.org/grpc/status"

	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// replyHeaders encodes the header blocks of replies. The first reply on a connection adds its
// fields to the client's HPACK table. The header blocks of later replies need only two bytes,
// and their trailers one byte, which is the minimum.
type replyHeaders struct {
	typeKnown   bool // the table contains content-type
	statusKnown bool // the table contains grpc-status, which was added before content-type
	plain       bool // the client's table is too small, so all fields are encoded in full
	emptied     bool // a reply has informed the client that the table stays empty
}

// Parts of header blocks (RFC 7541, section 6 and appendix A).
const (
	status200        = "\x88" // the static table contains ":status: 200"
	indexContentType = "\x5f" // the static table contains the name; the dynamic table gets the field
	fullContentType  = "\x0f\x10"
	contentType      = "\x10application/grpc"
	addGRPCStatus    = "\x40\x0bgrpc-status\x010"
	fullGRPCStatus   = "\x00\x0bgrpc-status\x010"
	emptyTable       = "\x20"
	// In the dynamic table, the newest entry has the lowest index.
	newest = "\xbe"
	second = "\xbf"
)

// appendStart appends the HEADERS frame with which a reply begins.
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

// appendEnd appends the HEADERS frame with which a successful reply ends.
func (r *replyHeaders) appendEnd(b []byte, stream uint32) []byte {
	block := newest
	switch {
	case r.plain && !r.emptied: // the client made its table smaller during the reply
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

// appendError appends a reply that consists only of an error, which gRPC calls "Trailers-Only".
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

// appendHeaderString appends an HPACK string without Huffman coding. The string must be shorter
// than 127 bytes.
func appendHeaderString(b []byte, s string) []byte {
	b = append(b, byte(len(s)))
	return append(b, s...)
}
