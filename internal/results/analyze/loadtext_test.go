package analyze

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// What a load is called above the table and in a column of its own.
func TestLoadInWords(t *testing.T) {
	for _, test := range []struct {
		title       string // of the facet
		conditions  record.Conditions
		cell, above string
	}{
		{"key", record.Conditions{KeySize: 8}, "8 B", "keys of 8 B"},
		{"key", record.Conditions{KeySize: 8, KeyPrefix: "a/"}, `"a/" and 8 B`, `keys of "a/" and 8 B`},
		{"key", record.Conditions{KeyPrefix: "foo"}, `"foo"`, `the key "foo"`},
		{"key", record.Conditions{KeySize: 8, RangeKey: "a"}, readable.Dash, ""},
		{"value", record.Conditions{ValueSize: 256}, "256 B", "values of 256 B"},
		{"value", record.Conditions{ValueSize: 256, RangeKey: "a"}, readable.Dash, ""},
		{"value", record.Conditions{ValueSize: 8, RangeKey: "a", Mix: make([]record.Share, 2)}, "8 B", "values of 8 B"},
		{"conns", record.Conditions{Connections: 8}, "8", "8 connections"},
		{"conns", record.Conditions{Connections: 8, NewConnection: true}, "new", "a new connection for each operation"},
		{"ranges", record.Conditions{}, readable.Dash, ""},
		{"ranges", record.Conditions{CountOnly: true}, "counted only", "counted only"},
		{"ranges", record.Conditions{RangeLimit: 10}, "at most 10 keys", "ranges of at most 10 keys"},
		{"ranges", record.Conditions{RangeKey: "a", RangeLimit: 1, CountOnly: true}, "at most 1 key, counted only", "ranges of at most 1 key, counted only"},
		{"ranges", record.Conditions{RangeKey: "a", RangeLimit: 10, Mix: make([]record.Share, 2)}, readable.Dash, ""}, // said beside the interval
		{"transaction", record.Conditions{}, readable.Dash, ""},
		{"transaction", record.Conditions{TxnKeys: 4}, "4 keys", "4 keys written in a transaction"},
	} {
		trial := &record.Trial{Conditions: test.conditions}
		for _, f := range facets() {
			if f.title != test.title {
				continue
			}
			if cell, above := f.of(trial), f.above(trial); cell != test.cell || above != test.above {
				t.Errorf("%s of %+v is %q and %q, not %q and %q", test.title, test.conditions, cell, above, test.cell, test.above)
			}
		}
	}
}
