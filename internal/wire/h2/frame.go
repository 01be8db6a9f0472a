// Package h2 implements HTTP/2 (RFC 9113) with HPACK (RFC 7541) for gRPC unary calls and streams.
// It does no I/O. Unlike the Framer in golang.org/x/net/http2, it parses frames in place and does
// not allocate memory for each frame.
package h2

import (
	"encoding/binary"
	"fmt"
)

// Preface is the first output of a client (RFC 9113, section 3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// FrameHeaderLen is the size of a frame's header in bytes.
const FrameHeaderLen = 9

// Frame types (RFC 9113, section 6).
const (
	FrameData         = 0x0
	FrameHeaders      = 0x1
	FramePriority     = 0x2
	FrameRSTStream    = 0x3
	FrameSettings     = 0x4
	FramePushPromise  = 0x5
	FramePing         = 0x6
	FrameGoAway       = 0x7
	FrameWindowUpdate = 0x8
	FrameContinuation = 0x9
)

// Frame flags.
const (
	FlagAck        = 0x1 // SETTINGS, PING
	FlagEndStream  = 0x1 // DATA, HEADERS
	FlagEndHeaders = 0x4
	FlagPadded     = 0x8
	FlagPriority   = 0x20
)

// Settings (RFC 9113, section 6.5.2).
const (
	SettingHeaderTableSize      = 0x1
	SettingEnablePush           = 0x2
	SettingMaxConcurrentStreams = 0x3
	SettingInitialWindowSize    = 0x4
	SettingMaxFrameSize         = 0x5
)

// Error codes (RFC 9113, section 7).
const (
	ErrCodeNo            = 0x0
	ErrCodeProtocol      = 0x1
	ErrCodeInternal      = 0x2
	ErrCodeFlowControl   = 0x3
	ErrCodeStreamClosed  = 0x5
	ErrCodeFrameSize     = 0x6
	ErrCodeRefusedStream = 0x7
	ErrCodeCancel        = 0x8
	ErrCodeCompression   = 0x9
	ErrCodeEnhanceCalm   = 0xb
)

// Defaults that apply before the first SETTINGS frame, and the maximum size of a window.
const (
	DefaultWindow       = 65535
	DefaultMaxFrameSize = 16384
	MaxWindow           = 1<<31 - 1
)

// FrameHeader contains the decoded first nine bytes of a frame.
type FrameHeader struct {
	Length int // payload size in bytes, 0 to 2^24-1
	Type   byte
	Flags  byte
	Stream uint32 // 31 bits
}

// ParseFrameHeader parses the header of a frame. b must have at least FrameHeaderLen bytes.
func ParseFrameHeader(b []byte) FrameHeader {
	_ = b[8]
	return FrameHeader{
		Length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		Type:   b[3],
		Flags:  b[4],
		Stream: binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1),
	}
}

func errFrame(h FrameHeader) error {
	return fmt.Errorf("the server violated HTTP/2: a frame of type %d with %d bytes on stream %d is not allowed",
		h.Type, h.Length, h.Stream)
}

// AppendFrameHeader appends a frame's header.
func AppendFrameHeader(b []byte, length int, typ, flags byte, stream uint32) []byte {
	return append(b, byte(length>>16), byte(length>>8), byte(length), typ, flags,
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

// Setting is one parameter of a SETTINGS frame.
type Setting struct {
	ID    uint16
	Value uint32
}

// AppendSettings appends a SETTINGS frame.
func AppendSettings(b []byte, settings ...Setting) []byte {
	b = AppendFrameHeader(b, 6*len(settings), FrameSettings, 0, 0)
	for _, s := range settings {
		b = binary.BigEndian.AppendUint16(b, s.ID)
		b = binary.BigEndian.AppendUint32(b, s.Value)
	}
	return b
}

// AppendWindowUpdate appends a WINDOW_UPDATE frame. If stream is 0, the frame applies to the whole
// connection.
func AppendWindowUpdate(b []byte, stream, increment uint32) []byte {
	b = AppendFrameHeader(b, 4, FrameWindowUpdate, 0, stream)
	return binary.BigEndian.AppendUint32(b, increment)
}

// AppendRSTStream appends a RST_STREAM frame.
func AppendRSTStream(b []byte, stream, code uint32) []byte {
	b = AppendFrameHeader(b, 4, FrameRSTStream, 0, stream)
	return binary.BigEndian.AppendUint32(b, code)
}

// AppendPing appends a PING frame with the given eight bytes.
func AppendPing(b []byte, flags byte, data []byte) []byte {
	b = AppendFrameHeader(b, 8, FramePing, flags, 0)
	return append(b, data[:8]...)
}

// AppendGoAway appends a GOAWAY frame.
func AppendGoAway(b []byte, last, code uint32) []byte {
	b = AppendFrameHeader(b, 8, FrameGoAway, 0, 0)
	b = binary.BigEndian.AppendUint32(b, last)
	return binary.BigEndian.AppendUint32(b, code)
}
