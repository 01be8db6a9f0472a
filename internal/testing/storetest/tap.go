package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// CheckTap passes arbitrary connection data to a store's tap, first all at once and then in pieces.
// The tap must return the same records both times, stay within a recording's limits, and use little
// more memory than the data.
func CheckTap(t *testing.T, st store.TapProvider, client, server []byte, piece uint8) {
	t.Helper()
	whole, wrong := tapRecords(t, st, client, server, max(len(client)+len(server), 1))
	parts, also := tapRecords(t, st, client, server, int(piece)+1)
	if (wrong == nil) != (also == nil) {
		t.Fatalf("the tap's error for all data at once is %v, but in pieces of %d bytes it is %v", wrong, int(piece)+1, also)
	}
	if d := cmp.Diff(whole, parts); d != "" {
		t.Fatalf("the records from all data at once and from pieces of %d bytes differ: %s", int(piece)+1, d)
	}
}

// tapRecords returns the records that a tap extracts from a connection. The client sends all its
// data before the server does.
func tapRecords(t *testing.T, st store.TapProvider, client, server []byte, piece int) (all []call.Record, err error) {
	t.Helper()
	tap := st.Tap(store.TapConfig{
		Conn: 1, Redactor: &call.Redactor{},
		Call: func(c *call.Call) {
			one := *c
			one.Parts = append([]call.Part(nil), c.Parts...)
			switch {
			case len(c.Parts) > call.MaxParts, len(c.Parts) == 0 && !c.Pushed:
				t.Fatalf("a call has %d parts", len(c.Parts))
			case c.Duration < -1 || c.KeyCount < 0 || c.Revision < 0 || c.RequestSize < 0 || c.ReplySize < 0 || c.Conn != 1 || c.Method == "":
				t.Fatalf("%+v", c)
			}
			all = append(all, call.Record{Call: &one})
		},
		Gap: func(g call.Gap) { all = append(all, call.Record{Gap: &g}) },
	})
	for _, side := range []struct {
		ofClient bool
		b        []byte
	}{{true, client}, {false, server}} {
		for b := side.b; len(b) > 0 && err == nil; {
			n := min(piece, len(b))
			err = tap.Feed(side.ofClient, 5, append([]byte(nil), b[:n]...))
			b = b[n:]
		}
	}
	open := tap.Open()
	before := len(all)
	tap.End(6)
	if pushed := len(all) - before; pushed > open {
		t.Fatalf("%d calls were open, but End reported %d calls", open, pushed)
	}
	return all, err
}
