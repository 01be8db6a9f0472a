package http1_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// listener records the decoded messages as text.
type listener struct{ messages []string }

func (l *listener) OnRequest(r *http1.ObservedRequest) {
	l.messages = append(l.messages, fmt.Sprintf("%s %s %d %q", r.Method, r.Target, r.Size, r.Body))
}

func (l *listener) OnResponse(a *http1.ObservedResponse) {
	l.messages = append(l.messages, fmt.Sprintf("%d %d %q %q", a.Status, a.Size, a.Field(0), a.Body))
}

// decode feeds the bytes of both directions to a decoder in pieces of the given size, and returns
// the decoded messages.
func decode(client, server string, piece int) ([]string, error) {
	var l listener
	o := http1.NewPassiveDecoder(&l, "X-Index")
	for _, side := range []struct {
		ofClient bool
		b        string
	}{{true, client}, {false, server}} {
		for b := []byte(side.b); len(b) > 0; {
			n := min(piece, len(b))
			// Pass a copy of each piece, because the decoder must not depend on the buffers of
			// earlier calls.
			if err := o.Feed(side.ofClient, append([]byte(nil), b[:n]...)); err != nil {
				return l.messages, err
			}
			b = b[n:]
		}
	}
	o.End()
	return l.messages, nil
}

func TestOverhearerDecodesMessages(t *testing.T) {
	client := "PUT /v1/kv/a?cas=3 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" +
		"GET /b HTTP/1.1\r\nHost: x\r\n\r\n\r\nHEAD /c HTTP/1.1\r\n\r\nPUT /d HTTP/1.1\nTransfer-Encoding: chunked\n\n3;x=y\nabc\n2\r\nde\r\n0\r\nT: r\r\n\r\n" +
		"GET /e HTTP/1.0\r\n\r\n"
	server := "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nx-index:  7\r\nContent-Length: 4\r\n\r\ntrue" +
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n2\r\nxx\r\n0\r\n\r\nHTTP/1.0 200 OK\r\n\r\nto the end"
	want := []string{
		`PUT /v1/kv/a?cas=3 5 "hello"`, `GET /b 0 ""`, `HEAD /c 0 ""`, `PUT /d 5 "abcde"`, `GET /e 0 ""`,
		`200 4 "7" "true"`, `404 0 "" ""`, `200 0 "" ""`, `200 2 "" ""`, `200 10 "" "to the end"`,
	}
	for _, piece := range []int{1, 2, 3, 7, 1000} {
		got, err := decode(client, server, piece)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("in pieces of %d: %v\n%s", piece, err, strings.Join(got, "\n"))
		}
	}
	for _, wrong := range [][2]string{
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""}, {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03aaaaaaaa", ""}, {"GET / HTTP/1.1\r\n\r\n", "\x00\x00\x12\x04\x00\x00\n"},
		{"", "HTTP/1.1 200 OK\r\n\r\n"}, {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n"},
		{"PUT / HTTP/1.1\r\nContent-Length: x\r\n\r\n", ""}, {"PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", ""},
		{"PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", ""}, {"GET /" + strings.Repeat("a", http1.MaxHead) + " HTTP/1.1\r\n\r\n", ""},
	} {
		if got, err := decode(wrong[0], wrong[1], 100); err == nil {
			t.Errorf("%.40q and %.40q are decoded: %q", wrong[0], wrong[1], got)
		}
	}
}

// The bytes of a body larger than MaxObservedBody must be counted but not kept.
func TestLargeBodyIsCountedAndNotKept(t *testing.T) {
	n := http1.MaxObservedBody + 1
	got, err := decode(fmt.Sprintf("PUT /a HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s", n, strings.Repeat("a", n)), "", 1<<16)
	if want := fmt.Sprintf(`PUT /a %d ""`, n); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("error %v, decoded %.60q", err, got)
	}
}

// FuzzOverhear checks that arbitrary bytes from both sides never cause a panic, and that the
// messages and the error do not depend on the size of the pieces in which the bytes arrive.
func FuzzOverhear(f *testing.F) {
	f.Add("PUT /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nxy", "HTTP/1.1 200 OK\r\nX-Index: 5\r\nContent-Length: 4\r\n\r\ntrue", uint8(3))
	f.Add("GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nT: x\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\n", uint8(1))
	f.Add("GET /a HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nall that comes", uint8(5))
	f.Add("\x16\x03\x01", "HTTP/1.1 101 S\r\n\r\n", uint8(0))
	f.Fuzz(func(t *testing.T, client, server string, piece uint8) {
		whole, wrong := decode(client, server, max(len(client)+len(server), 1))
		parts, also := decode(client, server, int(piece)+1)
		if !slices.Equal(whole, parts) || (wrong == nil) != (also == nil) {
			t.Fatalf("decoded at once: %q (%v); decoded in pieces of %d bytes: %q (%v)", whole, wrong, int(piece)+1, parts, also)
		}
	})
}
