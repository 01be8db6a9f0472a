package hostile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// H2 returns the kinds for HTTP/2 with gRPC.
func H2() []Kind {
	return slices.Concat([]Kind{h2Kind(Undisturbed, nil, nil)}, h2Greetings(), h2Floods(), h2Broken(), h2Streams(),
		h2Keys(), h2Counts(), h2Invented(), h2Garbage())
}

// h2Greetings returns kinds that violate the protocol before the first call.
func h2Greetings() []Kind {
	garbage := make([]byte, 4096)
	for i := range garbage {
		garbage[i] = byte(rand.New(rand.NewPCG(1, uint64(i))).Uint32())
	}
	return []Kind{
		greeting("silence from the first byte", ""),
		{Name: "closes at once", serve: func(net.Conn, string) {}},
		{Name: "garbage that does not end", Flood: true, serve: func(c net.Conn, _ string) { flood(c, garbage) }},
		h2Kind("GOAWAY behind the SETTINGS", func(c *h2Conn) {
			c.settings()
			_ = c.fr.WriteGoAway(0, http2.ErrCodeNo, nil)
		}, nil),
		h2Kind("no stream is allowed", func(c *h2Conn) { c.settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams}) }, nil),
		h2Kind("no window is opened", func(c *h2Conn) { c.settings(http2.Setting{ID: http2.SettingInitialWindowSize}) }, nil),
		h2Kind("a header table of 4 GiB", func(c *h2Conn) { c.settings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1<<32 - 1}) }, nil),
		{Name: "reads a byte now and then", serve: func(c net.Conn, _ string) {
			_, _ = c.Write(frameOf(http2.FrameSettings, 0, 0, nil))
			readSlowly(c)
		}},
		{Name: "the SETTINGS a byte at a time, without end", serve: func(c net.Conn, _ string) {
			for drip(c, frameOf(http2.FrameSettings, 0, 0, make([]byte, 600)), 1, 5*time.Millisecond) {
			}
		}},
	}
}

// frameFlood returns a kind that responds correctly to the first two calls, and then sends one
// frame repeatedly without end.
func frameFlood(name string, frame func(c *h2Conn, call *h2Call) []byte) Kind {
	return h2Kind(name, nil, func(c *h2Conn, call *h2Call) bool {
		if c.served < 3 {
			return c.respondCorrectly(call)
		}
		flood(c, frame(c, call))
		return false
	})
}

// h2Floods returns kinds of servers that send too much data, and kinds of servers that never serve
// a second call on the same connection.
func h2Floods() []Kind {
	same := func(t http2.FrameType, flags http2.Flags, payload []byte) func(*h2Conn, *h2Call) []byte {
		return func(*h2Conn, *h2Call) []byte { return frameOf(t, flags, 0, payload) }
	}
	window := func(n uint32) []byte {
		return frameOf(http2.FrameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, byte(http2.SettingInitialWindowSize)}, n))
	}
	windows := append(window(0), window(1<<31-1)...)
	goaway := frameOf(http2.FrameGoAway, 0, 0, append([]byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0}, strings.Repeat("x", 16<<10-8)...))
	return markFlooding(
		frameFlood("a flood of SETTINGS", same(http2.FrameSettings, 0, nil)),
		frameFlood("a flood of unknown frames", same(0xfa, 0, make([]byte, 100))),
		frameFlood("a flood of GOAWAY with 16 KiB of text", func(*h2Conn, *h2Call) []byte { return goaway }),
		frameFlood("a flood of WINDOW_UPDATE", same(http2.FrameWindowUpdate, 0, []byte{0, 0, 0, 1})),
		frameFlood("a flood of DATA for a stream that is over", func(c *h2Conn, call *h2Call) []byte {
			c.respondCorrectly(call)
			return frameOf(http2.FrameData, 0, call.id, make([]byte, 1000))
		}),
		frameFlood("a flood of empty DATA", func(c *h2Conn, call *h2Call) []byte {
			c.begin(call.id)
			return frameOf(http2.FrameData, 0, call.id, nil)
		}),
		frameFlood("a flood of HEADERS of informational answers", func(c *h2Conn, call *h2Call) []byte {
			return frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, call.id, c.fields(":status", "103"))
		}),
		frameFlood("windows that open and close without end", func(*h2Conn, *h2Call) []byte { return windows }),
		frameFlood("headers that do not end", func(c *h2Conn, call *h2Call) []byte {
			c.raw(http2.FrameHeaders, 0, call.id, c.fields(":status", "200"))
			return frameOf(http2.FrameContinuation, 0, call.id, c.fields("x-more", strings.Repeat("x", 1000)))
		}),
		frameFlood("empty CONTINUATION frames that do not end", func(c *h2Conn, call *h2Call) []byte {
			c.raw(http2.FrameHeaders, 0, call.id, c.fields(":status", "200"))
			return frameOf(http2.FrameContinuation, 0, call.id, nil)
		}),
		h2Kind("connections that GOAWAY behind one call", nil, func(c *h2Conn, call *h2Call) bool {
			c.respondCorrectly(call)
			_ = c.fr.WriteGoAway(call.id, http2.ErrCodeNo, nil)
			return true
		}),
		h2Kind("each call reset at once", nil, func(c *h2Conn, call *h2Call) bool {
			_ = c.fr.WriteRSTStream(call.id, http2.ErrCodeRefusedStream)
			return true
		}),
		h2Kind("connections that end behind one call", nil, func(c *h2Conn, call *h2Call) bool {
			c.respondCorrectly(call)
			return false
		}),
		h2Kind("header bombs", nil, func(c *h2Conn, call *h2Call) bool { return c.raw(http2.FrameHeaders, 0, call.id, nil) && c.bomb(call) }),
		h2Kind("an error of another text each time, 200 KiB long", nil, func(c *h2Conn, call *h2Call) bool {
			return c.sendLongError(call.id, strings.Repeat(strconv.Itoa(c.served)+" ", 200<<10/8))
		}),
		h2Kind("an error with control characters", nil, func(c *h2Conn, call *h2Call) bool {
			return c.refuse(call.id, 14, "%1b]0;owned%07%1b[2J%0a%0d"+strconv.Itoa(c.served))
		}),
	)
}

// bomb sends the rest of a header block after its HEADERS frame. The block refers repeatedly to one
// long entry in the header table, so that 256 KiB decode to a gigabyte.
func (c *h2Conn) bomb(call *h2Call) bool {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	_ = enc.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("y", 4000)}) // writes to a buffer never fail
	b := append(block.Bytes(), bytes.Repeat([]byte{0x80 | 62}, 255<<10-block.Len())...)
	for len(b) > 0 {
		n, flags := min(len(b), 16<<10), http2.Flags(0)
		if n == len(b) {
			flags = http2.FlagContinuationEndHeaders
		}
		if !c.raw(http2.FrameContinuation, flags, call.id, b[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}

// sendLongError responds with an error whose text does not fit in one frame.
func (c *h2Conn) sendLongError(id uint32, text string) bool {
	b := c.fields(":status", "200", "content-type", "application/grpc", "grpc-status", "14", "grpc-message", text)
	if !c.raw(http2.FrameHeaders, http2.FlagHeadersEndStream, id, b[:16<<10]) {
		return false
	}
	for b = b[16<<10:]; ; b = b[16<<10:] {
		if len(b) <= 16<<10 {
			return c.raw(http2.FrameContinuation, http2.FlagContinuationEndHeaders, id, b)
		}
		if !c.raw(http2.FrameContinuation, 0, id, b[:16<<10]) {
			return false
		}
	}
}

// h2Broken returns kinds whose response to a call violates the protocol.
func h2Broken() []Kind {
	later := func(name string, answer func(c *h2Conn, call *h2Call) bool) Kind {
		return h2Kind(name, nil, func(c *h2Conn, call *h2Call) bool {
			if c.served < 3 {
				return c.respondCorrectly(call)
			}
			return answer(c, call)
		})
	}
	return []Kind{
		later("a frame of 16 MiB", func(c *h2Conn, call *h2Call) bool {
			_, err := c.Write([]byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, byte(call.id)})
			return err == nil
		}),
		later("half a frame, then silence", func(c *h2Conn, call *h2Call) bool {
			c.begin(call.id)
			_, err := c.Write(frameOf(http2.FrameData, 0, call.id, prefixed(0, make([]byte, 100)))[:50])
			return err == nil
		}),
		later("half a frame, then the end", func(c *h2Conn, call *h2Call) bool {
			c.begin(call.id)
			_, _ = c.Write(frameOf(http2.FrameData, 0, call.id, prefixed(0, make([]byte, 100)))[:50])
			return false
		}),
	}
}

// h2Streams returns kinds that violate the protocol only in the stream of one call, or that respond
// slowly.
func h2Streams() []Kind {
	answer := func(name string, do func(*h2Conn, *h2Call) bool) Kind { return h2Kind(name, nil, do) }
	large := func(size, sent int) func(c *h2Conn, call *h2Call) bool {
		return func(c *h2Conn, call *h2Call) bool {
			return c.begin(call.id) && c.data(call.id, binary.BigEndian.AppendUint32([]byte{0}, uint32(size))) &&
				fill(sent, 0, func(part []byte) bool { return c.data(call.id, part) }) &&
				(sent < size || c.trailers(call.id, "0", ""))
		}
	}
	bomb := gzippedZeros(64)
	return []Kind{
		answer("a message of 4 GiB announced", func(c *h2Conn, call *h2Call) bool {
			return c.begin(call.id) && c.data(call.id, []byte{0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3})
		}),
		answer("messages of 60 MiB", large(60<<20, 60<<20)),
		answer("messages of 60 MiB, but for the last bytes", large(60<<20, 60<<20-10)),
		answer("a gzip bomb", func(c *h2Conn, call *h2Call) bool {
			return c.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, call.id, c.fields(":status", "200", "content-type", "application/grpc", "grpc-encoding", "gzip")) &&
				c.data(call.id, prefixed(1, bomb)) && c.trailers(call.id, "0", "")
		}),
		answer("nothing to any call", func(*h2Conn, *h2Call) bool { return true }),
		answer("right answers a byte at a time", func(c *h2Conn, call *h2Call) bool {
			m, err := c.askUpstream(call.method, call.message())
			return err == nil && c.begin(call.id) &&
				drip(c, frameOf(http2.FrameData, 0, call.id, prefixed(0, m)), 1, time.Millisecond) && c.trailers(call.id, "0", "")
		}),
		answer("right answers, each byte in its own frame", func(c *h2Conn, call *h2Call) bool {
			m, err := c.askUpstream(call.method, call.message())
			if err != nil || !c.begin(call.id) {
				return false
			}
			for _, b := range prefixed(0, m) {
				if !c.data(call.id, []byte{b}) {
					return false
				}
			}
			return c.trailers(call.id, "0", "")
		}),
	}
}
