package h2

// End shows how a call ended. The value Message instead marks a Reply that is a message of a long
// stream.
type End uint8

// The values of End.
const (
	Answered    End = iota // the server sent a gRPC status: Code and Text, and Body if Code is 0
	Reset                  // the server reset the stream; Code is the HTTP/2 error code
	Refused                // not processed by the server, which sent RST_STREAM with REFUSED_STREAM
	Unprocessed            // not processed by the server, which sent GOAWAY with a lower stream ID
	NotSent                // the connection ended before the request was written completely
	Broken                 // the connection ended before the response arrived
	Message                // the call has not ended: Body is the next message of a long stream
)

// gRPC status codes that this package uses (gRPC's statuscodes.md).
const (
	StatusOK              = 0
	StatusUnknown         = 2
	StatusInternal        = 13
	StatusUnavailable     = 14
	statusUnimplemented   = 12
	statusDenied          = 7
	statusUnauthenticated = 16
)

// Reply reports the end of a call, or contains a message of a long stream. Its bytes are valid
// until the next Feed.
type Reply struct {
	Tag  uint32 // the argument of Call or OpenStream
	Sub  uint8  // the argument of Call or OpenStream
	End  End
	Code uint32 // gRPC status if Answered; HTTP/2 error code if Reset, Refused or Unprocessed
	Body []byte // the message without its prefix
	Text []byte // the gRPC status message, or the reason for the end
}

// statusOfHTTP returns the gRPC status for a response that has only an HTTP status (gRPC's
// http-grpc-status-mapping.md).
func statusOfHTTP(status int) uint32 {
	switch status {
	case 400:
		return StatusInternal
	case 401:
		return statusUnauthenticated
	case 403:
		return statusDenied
	case 404:
		return statusUnimplemented
	case 429, 502, 503, 504:
		return StatusUnavailable
	}
	return StatusUnknown
}

// unescape decodes the percent-encoding in grpc-message. It leaves an invalid encoding unchanged.
func unescape(s string) []byte {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi >= 0 && lo >= 0 {
				b = append(b, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return b
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

var errCodeNames = [...]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
	"STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
	"CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

// ErrCodeName returns the name that RFC 9113, section 7, defines for an HTTP/2 error code.
func ErrCodeName(code uint32) string {
	if int64(code) < int64(len(errCodeNames)) {
		return errCodeNames[code]
	}
	return "an unknown error code"
}
