package passive

import (
	"fmt"
	"testing"
)

// Connection requests that no client confirms use limited memory and cause no gaps. During such a
// flood of requests, all calls on real connections are recorded, whether a connection began before,
// during or after the flood.
func TestFloodOfRequestsRecordsNoCalls(t *testing.T) {
	a, table := listening()
	table.crowdedAt = 1000
	real := func(port int) *connection {
		return newConnection(fmt.Sprintf("10.0.0.1:%d", port), uint32(port)<<8, uint32(port)<<9)
	}
	says := func(k *connection, at int64) {
		table.receive(at, k.send(clientSide, 0, "a question"), k.send(serverSide, 0, "an answer"))
	}
	before, within, after := real(1), real(2), real(3)
	table.receive(1, before.opens()...)
	const flood = 4 * maxRequests
	at := int64(1)
	for i := range flood {
		at += 10_000
		k := newConnection(fmt.Sprintf("10.1.%d.%d:%d", i>>8&255, i&255, 1000+i>>16), uint32(i)*7919, uint32(i)*104729)
		packets := k.opens()
		if n := 1 + i%2; i != flood/2 { // the member answers some of the requests
			table.receive(at, packets[:n]...)
			continue
		}
		table.receive(at, within.opens()...)
		says(within, at)
	}
	for _, k := range []*connection{before, within} {
		says(k, at)
	}
	table.receive(at, after.opens()...)
	says(after, at)
	if n := len(table.conns); n > maxRequests+10 {
		t.Errorf("the table holds %d connections after a flood of %d requests", n, flood)
	}
	for _, k := range []*connection{before, within, after} {
		table.receive(at, k.closes()...)
	}
	table.finish(at)
	questions := 0
	for _, c := range a.conns {
		questions += len(c.received[clientSide]) / len("a question")
	}
	if len(a.conns) != 3 || questions != 4 || len(a.gaps) != 0 {
		t.Errorf("%d connections with %d questions were decoded, with %d gaps", len(a.conns), questions, len(a.gaps))
	}
}
