package bench

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Bounds of a key interval that contains every key of a load, and nearly all other keys.
const (
	firstKey  = "\x00"
	endOfKeys = "\xff"
)

func (f *options) registerRange(r command.Flags) {
	r.Toggle("prefix", &f.prefix, "read all keys that begin with KEY; without KEY, read all keys")
}

// fillRange sets the interval that `range` reads.
func (f *options) fillRange(args []string) error {
	if f.prefix && len(args) > 1 {
		return command.Usage("--prefix reads all keys that begin with KEY, so it cannot be combined with END %q; remove --prefix or END", args[1])
	}
	if len(args) == 0 {
		if !f.prefix {
			return command.Usage("bench range needs %s", f.kind.argsDescription)
		}
		f.mustSet("range-key", firstKey)
		f.mustSet("range-end", endOfKeys)
		return nil
	}
	f.mustSet("range-key", args[0])
	switch {
	case len(args) > 1:
		f.mustSet("range-end", args[1])
	case f.prefix:
		end := call.PrefixEnd([]byte(args[0]))
		if end == nil {
			return command.Usage("no key sorts after all keys with the prefix %q, so the range has no end; give a shorter prefix, or KEY and END without --prefix", args[0])
		}
		f.mustSet("range-end", string(end))
	}
	return nil
}

func (f *options) registerMixed(r command.Flags) {
	r.Number("put-weight", &f.putWeight, "W", "weight of puts")
	r.Number("get-weight", &f.getWeight, "W", "weight of gets")
}

func (f *options) fillMixed([]string) error {
	put, get := f.putWeight, f.getWeight
	switch {
	case !f.set.Changed("put-weight") && !f.set.Changed("get-weight"):
		return nil
	case f.preset.IsGiven("mix"):
		return command.Usage("--mix already sets all weights; remove --put-weight and --get-weight")
	case put < 0 || get < 0:
		return command.Usage("--put-weight and --get-weight must be at least 0")
	case put == 0 && get == 0:
		return command.Usage("--put-weight and --get-weight are both 0, so there is nothing to do; make one of them positive")
	case put == 0:
		f.mustSet("mix", fmt.Sprintf("get=%g", get))
	case get == 0:
		f.mustSet("mix", fmt.Sprintf("put=%g", put))
	default:
		f.mustSet("mix", fmt.Sprintf("put=%g,get=%g", put, get))
	}
	return nil
}

func (f *options) registerTxnMixed(r command.Flags) {
	r.Number("rw-ratio", &f.rwRatio, "R", "number of reads per write")
	r.Text("end-key", &f.endKey, "KEY", "first key after the key interval; has the same effect as the argument END")
}

// fillTxnMixed sets the key interval that `txn-mixed` reads. If none of KEY, END and --end-key is
// given, the interval contains all keys with the prefix, or all keys if the prefix is empty.
func (f *options) fillTxnMixed(args []string) error {
	if !(f.rwRatio >= 0) || f.rwRatio > scenario.MaxRate {
		return command.Usage("--rw-ratio is %g, but must be from 0 to %d", f.rwRatio, scenario.MaxRate)
	}
	if f.rwRatio == 0 {
		f.mustSet("mix", "txn")
		f.preset.Remove("range-limit")
		return nil
	}
	f.mustSet("mix", fmt.Sprintf("txn-get=%g,txn=1", f.rwRatio))
	first, end := firstKey, endOfKeys
	if prefix := f.text("prefix"); prefix != "" {
		if after := call.PrefixEnd([]byte(prefix)); after != nil {
			first, end = prefix, string(after)
		}
	}
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case len(args) > 1 && f.endKey != "":
		return command.Usage("END %q and --end-key %q both set the end of the interval; give only one of them", args[1], f.endKey)
	case len(args) > 1:
		end = args[1]
	case f.endKey != "":
		end = f.endKey
	}
	f.mustSet("range-key", first)
	f.mustSet("range-end", end)
	return nil
}
