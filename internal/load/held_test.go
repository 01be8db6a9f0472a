package load

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// listOf returns a listing as Consul sends it: in chunks, without a length in the header.
func listOf(keys, size int) (answer []byte) {
	value := base64.StdEncoding.EncodeToString(make([]byte, size))
	var body bytes.Buffer
	for i := range keys {
		fmt.Fprintf(&body, `,{"LockIndex":0,"Key":"%08d","Flags":0,"Value":"%s","CreateIndex":%d,"ModifyIndex":%d}`, i, value, 1_000_000+i, 2_000_000+i)
	}
	answer = []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	for body.Len() > 0 {
		chunk := body.Next(4096)
		answer = append(fmt.Appendf(answer, "%x\r\n%s", len(chunk), chunk), "\r\n"...)
	}
	return append(answer, "0\r\n\r\n"...)
}

// The buffer for a load's replies is large enough even if all replies arrive at the same time, in
// small pieces, in the most verbose encoding.
func TestBuffersAllReplies(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, c := range []struct {
		clients, keys, size int
		limit               int64
	}{{1, 2500, 10 << 10, 0}, {100, 80, 10 << 10, 0}, {64, 1000, 256, 0}, {1000, 10, 8, 0}, {2, 10_000, 1 << 10, 10}} {
		p := plan{store: consul.New(), Assignment: Assignment{Load: scenario.Load{
			Clients: c.clients, KeySize: 8, ValueSize: c.size, KeySpace: uint64(c.keys), Ranges: scenario.Ranges{RangeLimit: c.limit},
			Mix: []scenario.Operation{{Kind: kv.Range, Weight: 1}},
		}}}
		budget := parts.New(p.maxBuffered())
		conns := make([]*http1.Conn, c.clients)
		for i := range conns {
			h := http1.NewConn(http1.Config{Host: "h:1", BufferBudget: budget})
			h.Send(h.Head(h.Begin(h.Template("GET", "/", false))))
			h.Wrote(len(h.Out()))
			conns[i] = h
		}
		answer := listOf(c.keys, c.size)
		for at := 0; at < len(answer); at += 64 << 10 {
			for _, h := range conns {
				if _, err := h.Feed(answer[at:min(at+64<<10, len(answer))]); err != nil {
					t.Fatalf("%+v: %v", c, err)
				}
			}
		}
	}
}
