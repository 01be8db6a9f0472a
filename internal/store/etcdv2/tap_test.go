package etcdv2

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// FuzzTap checks that any traffic between a client and a member is decoded
// identically however it is cut, or skipped.
func FuzzTap(f *testing.F) {
	f.Add([]byte("GET /v2/keys/a HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nX-Etcd-Index: 7\r\nContent-Length: 2\r\n\r\n{}"), uint8(3))
	f.Fuzz(func(t *testing.T, client, server []byte, piece uint8) {
		storetest.Tapped(t, New(), client, server, piece)
	})
}
