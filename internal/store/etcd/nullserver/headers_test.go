package nullserver

import (
	"bytes"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/net/http2/hpack"
)

// TestBlocksWithLiteralsAreRemembered sends a literal :path field, like nghttp2, which never adds
// :path to the HPACK table.
func TestBlocksWithLiteralsAreRemembered(t *testing.T) {
	h, block := newRequestHeaders(), bytes.Buffer{}
	if err := hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":path", Value: pb.KV_Range_FullMethodName, Sensitive: true}); err != nil {
		t.Fatal(err)
	}
	if c, err := h.decode(block.Bytes()); err != nil || c.method == nil {
		t.Fatal(c, err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = h.decode(block.Bytes()) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
