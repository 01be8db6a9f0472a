package scenario

import (
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Cleanup is what is removed when a load has ended, so that a cluster that is in
// use can be measured.
type Cleanup struct {
	// Keys removes every key with the load's prefix, whatever became of the load.
	// There may be none before.
	Keys bool
	// Compact discards the history then, and Defragment gives the free space of
	// every member back to its file system.
	Compact, Defragment bool
}

func cleanupParameters() []*Parameter {
	return []*Parameter{
		{Key: "cleanup", Meaning: "remove every key with the prefix afterwards; there may be none before",
			value: bounded(yesNo(func(l *Load) *bool { return &l.Cleanup.Keys }))},
		{Key: "cleanup-compact", Flag: "auto-compact", Meaning: "then compact the history", Features: []kv.Feature{kv.Compaction},
			value: bounded(yesNo(func(l *Load) *bool { return &l.Cleanup.Compact }))},
		{Key: "cleanup-defragment", Flag: "auto-defrag", Meaning: "then defragment every member", Features: []kv.Feature{kv.Defragmentation},
			value: bounded(yesNo(func(l *Load) *bool { return &l.Cleanup.Defragment }))},
		{Key: "require-memory", Meaning: "do nothing where the first member does not report its memory", Features: []kv.Feature{kv.Metrics},
			value: bounded(yesNo(func(l *Load) *bool { return &l.RequireMemory }))},
	}
}

func (l *Load) checkCleanup(c *checks) {
	for _, of := range []struct {
		key   string
		asked bool
	}{{"cleanup-compact", l.Cleanup.Compact}, {"cleanup-defragment", l.Cleanup.Defragment}} {
		if of.asked && !l.Cleanup.Keys {
			c.add(of.key, "<"+of.key+"> follows <cleanup>, which is not asked for; give both")
		}
	}
	switch {
	case !l.Cleanup.Keys:
	case strings.Trim(l.Prefix, "/") == "":
		c.add("prefix", "<prefix> is %q, and everything with that prefix is removed in the end: give a longer one", l.Prefix)
	case !l.usesKeySpace():
		c.add("cleanup", "<cleanup> is for operations on the key space, and this load has none")
	}
}

// checkRemoval refuses a cleanup that the store cannot do.
func (b *builder) checkRemoval() {
	if !b.load.Cleanup.Keys {
		return
	}
	if err := b.can.Operation(b.cluster.Store, kv.Delete, kv.None); err != nil {
		b.failf(b.place("cleanup"), "%s could not be cleaned up: %v", b.cluster.Store, err)
	}
	if _, ok := b.can.Operations[kv.Range]; !ok {
		b.failf(b.place("cleanup"), "%s could not be cleaned up: it does not list keys, so that nobody could tell whether there are any", b.cluster.Store)
	}
}
