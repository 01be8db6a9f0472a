package analyze

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// What a load is called above the table and in a column of its own.
func TestLoadInWords(t *testing.T) {
	for _, test := range []struct {
		title       string // of the facet
		load        scenario.Load
		cell, above string
	}{
		{"key", scenario.Load{KeySize: 8}, "8 B", "keys of 8 B"},
		{"key", scenario.Load{KeySize: 8, Prefix: "a/"}, `"a/" and 8 B`, `keys of "a/" and 8 B`},
		{"key", scenario.Load{Prefix: "foo"}, `"foo"`, `the key "foo"`},
		{"key", scenario.Load{KeySize: 8, RangeKey: []byte("a")}, readable.Dash, ""},
		{"value", scenario.Load{ValueSize: 256}, "256 B", "values of 256 B"},
		{"value", scenario.Load{ValueSize: 256, RangeKey: []byte("a")}, readable.Dash, ""},
		{"value", scenario.Load{ValueSize: 8, RangeKey: []byte("a"), Mix: make([]scenario.Operation, 2)}, "8 B", "values of 8 B"},
		{"conns", scenario.Load{Connections: 8}, "8", "8 connections"},
		{"conns", scenario.Load{Connections: 8, NewConnection: true}, "new", "a new connection for each operation"},
		{"ranges", scenario.Load{}, readable.Dash, ""},
		{"ranges", scenario.Load{Scan: scenario.Scan{CountOnly: true}}, "counted only", "counted only"},
		{"ranges", scenario.Load{RangeLimit: 10}, "at most 10 keys", "ranges of at most 10 keys"},
		{"ranges", scenario.Load{RangeKey: []byte("a"), RangeLimit: 1, Scan: scenario.Scan{CountOnly: true}}, "at most 1 key, counted only", "ranges of at most 1 key, counted only"},
		{"ranges", scenario.Load{RangeKey: []byte("a"), RangeLimit: 10, Mix: make([]scenario.Operation, 2)}, readable.Dash, ""}, // said beside the interval
		{"transaction", scenario.Load{}, readable.Dash, ""},
		{"transaction", scenario.Load{TxnKeys: 4}, "4 keys", "4 keys written in a transaction"},
	} {
		trial := &record.Trial{Conditions: record.Conditions{Load: test.load}}
		for _, f := range facets() {
			if f.title != test.title {
				continue
			}
			if cell, above := f.of(trial), f.above(trial); cell != test.cell || above != test.above {
				t.Errorf("%s of %+v is %q and %q, not %q and %q", test.title, test.load, cell, above, test.cell, test.above)
			}
		}
	}
}
