package scenario

import (
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Each property of a load is shown either in the description above the table or in a column.
func TestReadings(t *testing.T) {
	for _, test := range []struct {
		title       string
		load        Load
		cell, above string
	}{
		{"key", Load{KeySize: 8}, "8 B", "keys of 8 B"},
		{"key", Load{KeySize: 8, Prefix: "a/"}, `"a/" and 8 B`, `keys of "a/" and 8 B`},
		{"key", Load{Prefix: "foo"}, `"foo"`, `the key "foo"`},
		{"key", Load{KeySize: 8, Ranges: Ranges{RangeKey: []byte("a")}}, "", ""},
		{"key", Load{KeySize: 8, Mix: []Operation{{Kind: kv.KeepAlive}}}, "8 B", ""},
		{"key", Load{KeySize: 8, Mix: []Operation{{Kind: kv.KeepAlive}, {Kind: kv.Put}}}, "8 B", "keys of 8 B"},
		{"value", Load{ValueSize: 256}, "256 B", "values of 256 B"},
		{"value", Load{ValueSize: 256, Ranges: Ranges{RangeKey: []byte("a")}}, "", ""},
		{"value", Load{ValueSize: 8, Ranges: Ranges{RangeKey: []byte("a")}, Mix: make([]Operation, 2)}, "8 B", "values of 8 B"},
		{"keys", Load{KeySpace: 9, Distribution: Distribution{Name: Uniform}}, "9 uniform", "9 keys (uniform)"},
		{"keys", Load{Ranges: Ranges{RangeKey: []byte("a")}}, `"a"`, `key "a"`},
		{"keys", Load{Ranges: Ranges{RangeKey: []byte("a"), RangeEnd: []byte("c")}}, `"a" to "c"`, `keys from "a" to "c"`},
		{"keys", Load{Ranges: Ranges{RangeKey: []byte{0}, RangeEnd: []byte{0xff}}}, "all keys", "all keys"},
		{"keys", Load{KeySpace: 9, Ranges: Ranges{RangeKey: []byte("a"), RangeEnd: []byte("c"), RangeLimit: 2}, Mix: make([]Operation, 2)},
			"9 -", `9 keys (-), ranges over "a" to "c" of at most 2 keys`},
		{"conns", Load{Connections: 8}, "8", "8 connections"},
		{"conns", Load{Connections: 8, NewConnection: true}, "new", "a new connection for each operation"},
		{"ranges", Load{}, "", ""},
		{"ranges", Load{Ranges: Ranges{Scan: Scan{CountOnly: true}}}, "counted only", "counted only"},
		{"ranges", Load{Ranges: Ranges{Scan: Scan{KeysOnly: true, PageSize: 5}}}, "keys only, in pages of 5 keys", "keys only, in pages of 5 keys"},
		{"ranges", Load{Ranges: Ranges{RangeLimit: 10}}, "at most 10 keys", "ranges of at most 10 keys"},
		{"ranges", Load{Ranges: Ranges{RangeKey: []byte("a"), RangeLimit: 1, Scan: Scan{CountOnly: true}}}, "at most 1 key, counted only", "ranges of at most 1 key, counted only"},
		// keysHeading shows the limit together with the interval.
		{"ranges", Load{Ranges: Ranges{RangeKey: []byte("a"), RangeLimit: 10}, Mix: make([]Operation, 2)}, "", ""},
		{"transaction", Load{}, "", ""},
		{"transaction", Load{TxnKeys: 4}, "4 keys", "4 keys written in a transaction"},
	} {
		for _, r := range Presentations() {
			if r.Title != test.title {
				continue
			}
			if cell, above := r.Cell(&test.load), r.Heading(&test.load); cell != test.cell || above != test.above {
				t.Errorf("%s of %+v has the cell %q and the heading %q, want %q and %q", test.title, test.load, cell, above, test.cell, test.above)
			}
		}
	}
}

// A parameter in which two loads differ is shown in reports, either in the load's description or
// elsewhere.
func TestDifferingParametersAreReported(t *testing.T) {
	elsewhere := []string{
		"mix", "target", // columns of the table
		"arrival", "rate", // shown in the due column for an open loop
		"watch.watchers", "watch.streams", "watch.connections", "watch.watched-keys", "watch.keys-per-watcher", "watch.prev-kv", "watch.mode", "watch.key",
		"watch.created-in-window",  // shown in the table of watch events
		"preload", "max-in-flight", // shown where they affect the verdict
	}
	for _, p := range Parameters(Apps()) {
		if (p.DifferenceName != "") != (p.Presentation != nil || slices.Contains(elsewhere, p.Key)) {
			t.Errorf("%s has the difference name %q, and has a presentation: %v; a parameter by which loads differ needs a presentation", p.Key, p.DifferenceName, p.Presentation != nil)
		}
	}
	seen := map[string]bool{}
	for _, r := range Presentations() {
		if seen[r.Title] || r.Title == "" || r.Cell == nil || r.Heading == nil {
			t.Errorf("the presentation %q is incomplete, or its title occurs twice", r.Title)
		}
		seen[r.Title] = true
	}
}
