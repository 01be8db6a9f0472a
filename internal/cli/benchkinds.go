package cli

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// benchKind is one of the `bench` commands.
type benchKind struct {
	name  string
	args  string // behind the name, in help
	most  int    // arguments
	takes string // what they are, for the sentence that refuses others
	alias string
	short string

	kinds        []kv.Kind
	distribution string // unless the flags say
	// keySize and valueSize are the defaults in bytes; 0 leaves those that
	// scenario files have.
	keySize, valueSize int
	total              int64   // the default; 0 is defaultTotal
	rate               float64 // the default; 0 is a closed loop

	// flags registers what the command has instead of the flags of keys, and
	// fill settles the load by them. Both are nil for a command without.
	flags   func(*benchFlags, flags)
	fill    func(*benchFlags, *scenario.Load, []string) error
	watches bool // it has watchers beside its operations
	// renamed are pairs of a flag's name in other commands and what it is here.
	renamed []string
	// sections are those of the summary, where it has some.
	sections report.Classic
}

// etcdValueSize is the default of etcd's benchmark, for its commands.
const etcdValueSize = 8

func benchKinds() []benchKind {
	return append([]benchKind{
		{name: "put", short: "Write keys", kinds: []kv.Kind{kv.Put}, distribution: scenario.Uniform, valueSize: etcdValueSize},
		{name: "get", short: "Read one key at a time from the key space", kinds: []kv.Kind{kv.Get}, distribution: scenario.Uniform},
		{name: "range", args: "KEY [END]", most: 2, takes: "KEY and perhaps END, the first key after the interval",
			short: "Read a given key or interval again and again", kinds: []kv.Kind{kv.Range}, distribution: scenario.Uniform},
		{name: "list", short: "List keys of the key space, from one of them on", kinds: []kv.Kind{kv.Range}, distribution: scenario.Uniform},
		// Each key is deleted once, for as long as there are keys.
		{name: "delete", short: "Delete keys", kinds: []kv.Kind{kv.Delete}, distribution: scenario.Sequential},
		{name: "cas", short: "Compare a key's version and set its value", kinds: []kv.Kind{kv.CAS}, distribution: scenario.Uniform},
		{name: "txn-put", alias: "txn", short: "Write several keys in one transaction", kinds: []kv.Kind{kv.Txn}, distribution: scenario.Sequential, valueSize: etcdValueSize},
		{name: "mixed", short: "Write and read keys of one key space", kinds: []kv.Kind{kv.Put, kv.Get}, distribution: scenario.Uniform},
	}, append(transactionKinds(), watchKinds()...)...)
}

func (k benchKind) has(kind kv.Kind) bool { return slices.Contains(k.kinds, kind) }

func (k benchKind) reads() bool { return k.has(kv.Get) || k.has(kv.Range) || k.has(kv.TxnGet) }

// blind reports whether the command needs no key to be there.
func (k benchKind) blind() bool { return !k.reads() && !k.has(kv.Delete) && !k.has(kv.CAS) }

// brief reports whether each operation is one request and answer, so that it
// can have a connection of its own.
func (k benchKind) brief() bool {
	return !k.watches && !k.has(kv.STM) && !k.has(kv.KeepAlive) && !k.has(kv.TxnGet)
}

// flag is what the command calls one of the flags that others call total and
// rate.
func (k benchKind) flag(name string) string {
	if i := slices.Index(k.renamed, "--"+name); i >= 0 {
		return k.renamed[i+1][len("--"):]
	}
	return name
}
