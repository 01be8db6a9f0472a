package etcdv2

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// FuzzTap checks that the decoder returns the same result no matter how the traffic between a
// client and a member is cut into pieces. The decoder must skip traffic that it cannot decode.
func FuzzTap(f *testing.F) {
	f.Add([]byte("GET /v2/keys/a HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nX-Etcd-Index: 7\r\nContent-Length: 2\r\n\r\n{}"), uint8(3))
	f.Fuzz(func(t *testing.T, client, server []byte, piece uint8) {
		storetest.CheckTap(t, New(), client, server, piece)
	})
}
