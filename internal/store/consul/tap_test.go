package consul

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// FuzzTap checks that the result of decoding arbitrary traffic does not depend on how the traffic
// is split into pieces.
func FuzzTap(f *testing.F) {
	f.Add([]byte("GET /v1/kv/a?stale HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nX-Consul-Index: 7\r\nContent-Length: 43\r\n\r\n[{\"Key\":\"a\",\"Value\":\"dg==\",\"ModifyIndex\":7}]"), uint8(3))
	f.Fuzz(func(t *testing.T, client, server []byte, piece uint8) {
		storetest.CheckTap(t, New(), client, server, piece)
	})
}
