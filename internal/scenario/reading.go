package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Presentations returns the presentations of all parameters except the number of clients, without
// duplicates, in the order of reports: operations first, other parameters next, times last.
func Presentations() []*Presentation {
	first := []*Presentation{&connectionsPresentation, &keySizePresentation, &valueSizePresentation, &keysPresentation, &rangesPresentation, &compactionPresentation, &transactionPresentation}
	last := []*Presentation{&warmupPresentation, &windowPresentation, &timeoutPresentation}
	for _, p := range parameters(nil, nil) {
		if p.Presentation != nil && p.Presentation != &clientsPresentation && !slices.Contains(first, p.Presentation) && !slices.Contains(last, p.Presentation) {
			first = append(first, p.Presentation)
		}
	}
	return append(first, last...)
}

// ClientsPresentation returns the presentation of the number of clients. Reports show this number
// in the heading of closed loops.
func ClientsPresentation() *Presentation { return &clientsPresentation }

var (
	clientsPresentation = Presentation{"clients",
		func(l *Load) string { return text.Count(uint64(l.Clients)) },
		func(l *Load) string { return text.Plural(uint64(l.Clients), "client") }}
	connectionsPresentation = Presentation{"conns", connectionsCell, connectionsHeading}
	keySizePresentation     = Presentation{"key", keySizeCell, ifUsesKeys(keySizeHeading)}
	valueSizePresentation   = Presentation{"value", valueSizeCell, ifUsesKeys(withPrefix("values of ", valueSizeCell))}
	keysPresentation        = Presentation{"keys", keysCell, ifUsesKeys(keysHeading)}
	rangesPresentation      = Presentation{"ranges", rangesText, rangesHeading}
	compactionPresentation  = Presentation{"compacted", compactionText, withPrefix("compacted ", compactionText)}
	transactionPresentation = Presentation{"transaction", transactionCell, transactionHeading}
	faultsPresentation      = Presentation{"faults", func(l *Load) string { return fault.Text(l.Faults) }, withPrefix("faults: ", func(l *Load) string { return fault.Text(l.Faults) })}
	warmupPresentation      = Presentation{"warm-up", warmupText, withPrefix("warm-up ", warmupText)}
	windowPresentation      = Presentation{"window", windowText, withPrefix("window ", windowText)}
	timeoutPresentation     = Presentation{"timeout", timeoutText, withPrefix("timeout ", timeoutText)}
)

// withPrefix returns a function that returns the text of a cell after a prefix, or an empty string
// if the cell is empty.
func withPrefix(prefix string, cell func(*Load) string) func(*Load) string {
	return func(l *Load) string {
		if text := cell(l); text != "" {
			return prefix + text
		}
		return ""
	}
}

func warmupText(l *Load) string { return text.Seconds(l.Warmup.Seconds()) }

func timeoutText(l *Load) string { return text.Seconds(l.Timeout.Seconds()) }

// ifUsesKeys returns a function that omits a text about keys if the load's operations use no keys.
func ifUsesKeys(above func(*Load) string) func(*Load) string {
	return func(l *Load) string {
		if len(l.Mix) > 0 && !l.hasKind(func(k kv.Kind) bool { return k != kv.KeepAlive }) {
			return ""
		}
		return above(l)
	}
}

func connectionsCell(l *Load) string {
	if l.NewConnection {
		return "new"
	}
	return text.Count(uint64(l.Connections))
}

func connectionsHeading(l *Load) string {
	if l.NewConnection {
		return "a new connection for each operation"
	}
	return text.Plural(uint64(l.Connections), "connection")
}

// readsFixedRange reports whether the load only reads a given key or interval. The load's key size
// and value size then have no meaning.
func (l *Load) readsFixedRange() bool { return len(l.RangeKey) > 0 && len(l.Mix) < 2 }

// keySizeCell returns the size of keys: the prefix, if there is one, and the size after it.
func keySizeCell(l *Load) string {
	prefix := strconv.Quote(KeyText([]byte(l.Prefix)))
	switch {
	case l.readsFixedRange():
		return ""
	case l.Prefix == "":
		return text.Bytes(uint64(l.KeySize))
	case l.KeySize == 0:
		return prefix
	}
	return prefix + " and " + text.Bytes(uint64(l.KeySize))
}

func keySizeHeading(l *Load) string {
	if l.Prefix != "" && l.KeySize == 0 {
		return withPrefix("the key ", keySizeCell)(l)
	}
	return withPrefix("keys of ", keySizeCell)(l)
}

func valueSizeCell(l *Load) string {
	if l.readsFixedRange() {
		return ""
	}
	return text.Bytes(uint64(l.ValueSize))
}

func keysCell(l *Load) string {
	if l.readsFixedRange() {
		return cmp.Or(allKeysText(l), fixedRangeText(l))
	}
	return text.Count(l.KeySpace) + " " + distributionText(l)
}

func keysHeading(l *Load) string {
	space := text.Plural(l.KeySpace, "key") + " (" + distributionText(l) + ")"
	switch {
	case len(l.RangeKey) == 0:
		return space
	case len(l.Mix) > 1:
		what := cmp.Or(allKeysText(l), fmt.Sprintf("%q to %q", KeyText(l.RangeKey), KeyText(l.RangeEnd)))
		if l.RangeLimit > 0 {
			what += " of at most " + text.Plural(uint64(l.RangeLimit), "key")
		}
		return space + ", ranges over " + what
	case allKeysText(l) != "":
		return allKeysText(l)
	case len(l.RangeEnd) == 0:
		return "key " + fixedRangeText(l)
	}
	return "keys from " + fixedRangeText(l)
}

// fixedRangeText returns the key or interval that the load reads.
func fixedRangeText(l *Load) string {
	if len(l.RangeEnd) == 0 {
		return strconv.Quote(KeyText(l.RangeKey))
	}
	return fmt.Sprintf("%q to %q", KeyText(l.RangeKey), KeyText(l.RangeEnd))
}

// allKeysText returns "all keys" for a range that contains every key, and an empty string for other
// ranges.
func allKeysText(l *Load) string {
	if KeyText(l.RangeKey) == "0x00" && KeyText(l.RangeEnd) == "0xff" {
		return "all keys"
	}
	return ""
}

func distributionText(l *Load) string {
	switch d := l.Distribution; {
	case d.Theta > 0:
		return fmt.Sprintf("%s %g", d.Name, d.Theta)
	case d.HotKeys > 0:
		return fmt.Sprintf("%s %s/%s", d.Name, text.Share(d.HotKeys), text.Share(d.HotOps))
	default:
		return text.OrDash(d.Name)
	}
}

// rangesText describes how ranges are read. The text contains the limit, unless keysHeading already
// shows the limit with the interval.
func rangesText(l *Load) string {
	var parts []string
	if l.RangeLimit > 0 && (len(l.RangeKey) == 0 || l.readsFixedRange()) {
		parts = append(parts, "at most "+text.Plural(uint64(l.RangeLimit), "key"))
	}
	if l.Scan.CountOnly {
		return strings.Join(append(parts, "counted only"), ", ")
	}
	if l.Scan.KeysOnly {
		parts = append(parts, "keys only")
	}
	switch {
	case l.Scan.Streamed:
		parts = append(parts, "as a stream")
	case l.Scan.PageSize > 0:
		parts = append(parts, "in pages of "+text.Plural(uint64(l.Scan.PageSize), "key"))
	}
	return strings.Join(parts, ", ")
}

func rangesHeading(l *Load) string {
	text := rangesText(l)
	if strings.HasPrefix(text, "at most") {
		return "ranges of " + text
	}
	return text
}

func compactionText(l *Load) string {
	if l.Compact.Interval == 0 {
		return ""
	}
	return fmt.Sprintf("every %s, keeping %s", text.Seconds(l.Compact.Interval.Seconds()), text.Plural(uint64(l.Compact.KeptRevisions), "revision"))
}

// transactionCell describes transactions, if the load has any.
func transactionCell(l *Load) string {
	s := l.STM
	switch {
	case s == nil && l.TxnKeys > 0:
		return text.Plural(uint64(l.TxnKeys), "key")
	case s == nil:
		return ""
	}
	words := fmt.Sprintf("%s per transaction, %d %% of them written, isolation %s", text.Plural(uint64(s.KeysPerTxn), "key"), s.WritePercent, s.Isolation)
	if s.Locker != kv.LockNone {
		words += ", with lock " + s.Locker.String()
	}
	return words
}

func transactionHeading(l *Load) string {
	text := transactionCell(l)
	if l.STM == nil && text != "" {
		return text + " written in a transaction"
	}
	return text
}

func windowText(l *Load) string {
	switch {
	case l.Watch != nil && l.Watch.EarlierEvents > 0:
		return "until the watchers have caught up, at most " + text.Seconds(l.Duration.Seconds())
	case l.Total > 0:
		return text.Plural(l.Total, "operation")
	}
	return text.Seconds(l.Duration.Seconds())
}

var compactFirstPresentation = Presentation{"compacted first", ifCompactedFirst("yes"), ifCompactedFirst("history compacted before the load")}

func ifCompactedFirst(text string) func(*Load) string {
	return func(l *Load) string {
		if !l.CompactFirst {
			return ""
		}
		return text
	}
}

var verifyPresentation = Presentation{"verified", ifVerified("yes"), ifVerified("every operation recorded, and the responses verified")}

func ifVerified(text string) func(*Load) string {
	return func(l *Load) string {
		if !l.Verify {
			return ""
		}
		return text
	}
}

// FirstDifference returns the name of the first parameter in which two loads differ, and both
// values. It returns empty strings if the loads are equal. Rates that are percentages of another
// trial's throughput are compared by the name of that trial.
func FirstDifference(a, b *Load) (what, ofA, ofB string) {
	if a.Rate.SourceTrial != b.Rate.SourceTrial {
		return "the trial whose throughput the rate follows", a.Rate.SourceTrial, b.Rate.SourceTrial
	}
	for _, p := range ParametersOf(a, b) {
		if p.DifferenceName == "" || p.ClosedLoop && a.Arrival != Closed && b.Arrival != Closed {
			continue
		}
		if ofA, ofB := p.comparisonText(a), p.comparisonText(b); ofA != ofB {
			return p.DifferenceName, ofA, ofB
		}
	}
	return "", "", ""
}

// comparisonText returns a parameter's text for comparisons.
func (p *Parameter) comparisonText(l *Load) string {
	switch text := p.Text(l); {
	case p.Key == "rate" && l.Rate.SourceTrial != "":
		return ""
	case p.Key == "watch.watched-keys" && l.Watch != nil:
		return strconv.FormatUint(cmp.Or(l.Watch.WatchedKeys, l.KeySpace), 10)
	case text == "0", text == "0s":
		return ""
	default:
		return text
	}
}
