package analyze

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// given reports whether all that the trial does is to read a key or an interval
// that was given: the sizes of keys and values are then not the load's.
func given(t *record.Trial) bool { return len(t.RangeKey) > 0 && len(t.Mix) < 2 }

// keySize is how long keys are. Those that begin with a prefix are that long
// behind it.
func keySize(t *record.Trial) string {
	switch {
	case given(t):
		return readable.Dash
	case t.Prefix == "":
		return readable.Bytes(uint64(t.KeySize))
	case t.KeySize == 0:
		return fmt.Sprintf("%q", scenario.KeyText([]byte(t.Prefix)))
	}
	return fmt.Sprintf("%q and %s", scenario.KeyText([]byte(t.Prefix)), readable.Bytes(uint64(t.KeySize)))
}

func keySizeAbove(t *record.Trial) string {
	switch {
	case given(t):
		return ""
	case t.Prefix != "" && t.KeySize == 0:
		return fmt.Sprintf("the key %q", scenario.KeyText([]byte(t.Prefix)))
	}
	return "keys of " + keySize(t)
}

func valueSize(t *record.Trial) string {
	if given(t) {
		return readable.Dash
	}
	return readable.Bytes(uint64(t.ValueSize))
}

func valueSizeAbove(t *record.Trial) string {
	if given(t) {
		return ""
	}
	return "values of " + valueSize(t)
}

// connections is how many there are, or that there is one for each operation.
func connections(t *record.Trial) string {
	if t.NewConnection {
		return "new"
	}
	return readable.Count(uint64(t.Connections))
}

func connectionsAbove(t *record.Trial) string {
	if t.NewConnection {
		return "a new connection for each operation"
	}
	return readable.Plural(uint64(t.Connections), "connection")
}

// ranges says how ranges are read, and how much of them, where that is not
// said beside their interval.
func ranges(t *record.Trial) string {
	var parts []string
	if t.RangeLimit > 0 && (len(t.RangeKey) == 0 || given(t)) {
		parts = append(parts, "at most "+readable.Plural(uint64(t.RangeLimit), "key"))
	}
	if how := scan(t); how != "" {
		parts = append(parts, how)
	}
	return strings.Join(parts, ", ")
}

func rangesAbove(t *record.Trial) string {
	if text := ranges(t); strings.HasPrefix(text, "at most") {
		return "ranges of " + text
	}
	return ranges(t)
}

// transactions says what transactions are, where there are any.
func transactions(t *record.Trial) string {
	if t.STM == nil && t.TxnKeys > 0 {
		return readable.Plural(uint64(t.TxnKeys), "key")
	}
	return transaction(t)
}

func transactionsAbove(t *record.Trial) string {
	if t.STM == nil && t.TxnKeys > 0 {
		return transactions(t) + " written in a transaction"
	}
	return transaction(t)
}
