package scenario

import (
	"encoding/json"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Parameter is the single definition of a parameter of a trial. Scenario files, the flags
// of bench, checks and their sentences, records and comparisons of loads use it, and tests
// compare the tables in docs with it.
type Parameter struct {
	// Key is the name in scenario files and records. A point separates the key of a mapping
	// and that of an entry, as in watch.streams.
	Key string
	// Flag is the name in the commands of bench, if it differs from Key.
	Flag string
	// Meaning is a phrase for help.
	Meaning string
	// Range is the range in words, if it differs from that of value.
	Range string
	// Differs is the name in sentences about differences between two loads. Loads that
	// differ only in parameters without it count as equal.
	Differs string
	// Reads is how reports show it; nil if the table has its own columns for it or reports
	// do not show it.
	Reads *Reading
	// Note is a sentence below the report of a load that has it.
	Note string
	// For selects the operations to which it applies. Throughout refuses it in a mix that
	// has other operations, too.
	For        operations
	Throughout bool
	// Features are the features that a store must have for it.
	Features []kv.Feature
	// OpenLoop marks a parameter that only open loops have. ClosedLoop marks one that does
	// not distinguish open loops.
	OpenLoop, ClosedLoop bool

	column *column // in the output of a dry run; nil for none

	alone  bool // only in a trial itself, not in defaults or matrix
	shared bool // in a trial and in defaults, but not in matrix
	value  value
	set    func(d *draft, key string, n *node) error // reads a file's value; value.read if nil
}

// operations is a set of operations with a name. The zero value is all operations.
type operations struct {
	name string
	are  func(kv.Kind) bool
}

var (
	ofReads        = operations{"reads", kv.Kind.Reads}
	ofBrief        = operations{"operations of one request and answer", kv.Kind.Brief}
	ofRanges       = operations{"range and txn-get operations", isRange}
	ofPlainRanges  = operations{"range operations", isPlainRange}
	ofTransactions = operations{"transactions", isTxn}
	ofSTM          = operations{"stm operations", isSTM}
)

// occurIn reports whether the load has any of the operations.
func (o operations) occurIn(l *Load) bool { return o.are == nil || l.hasKind(o.are) }

// column is a parameter's column in a dry run. The zero column has the parameter's key as
// title, and its text.
type column struct {
	title string
	cell  func(*Trial) string
	// optional omits the column if no trial has the parameter; trials without it show none.
	optional bool
	none     string
}

// Reading is how reports show a parameter of a load, or several that belong together: above
// the table if all trials share it, and otherwise in its own column.
type Reading struct {
	Title string // title of the column
	// Cell is the column's text, and Above the phrase above the table; either is empty if
	// there is nothing to show.
	Cell, Above func(*Load) string
}

// value is where a load stores a parameter, and how it is written.
type value interface {
	// hint is the placeholder for the value in help, and bounds its range in words.
	hint() string
	bounds() string
	// parse reads a flag's value, and read a value of a file. Neither checks bounds, except
	// for values that the field cannot hold.
	parse(l *Load, text string) error
	read(d *draft, key string, n *node) error
	check(c *checks, key string, l *Load)
	// text is the value in the format of parse; empty if the load has none.
	text(l *Load) string
	// encode returns the value for JSON, nil if a scenario file would omit it, and decode
	// reads it back.
	encode(l *Load) any
	decode(l *Load, b json.RawMessage) error
}

// draft is a trial whose values are being read.
type draft struct {
	parameters  map[string]*Parameter
	called      words
	name        string // as written, a template
	load        Load
	cluster     Cluster
	attach      Attach
	settings    *node
	consistency kv.Consistency // of reads without their own consistency
	repeats     int
	workersOn   []string
	places      []place // of the mix's operations

	scaleDuration bool // the window is scaled like totals
}

// OfLoad reports whether the parameter belongs to a load, and not to a cluster or to the
// expansion of trials.
func (p *Parameter) OfLoad() bool { return p.value != nil }

// Text returns the load's value as written in flags and files; empty without one.
func (p *Parameter) Text(l *Load) string {
	if p.value == nil || !p.applies(l) {
		return ""
	}
	return p.value.text(l)
}

// applies reports whether the parameter has a meaning for the load.
func (p *Parameter) applies(l *Load) bool {
	return p.For.occurIn(l) && (!p.OpenLoop || l.Arrival != Closed)
}

// check checks the value by itself.
func (p *Parameter) check(c *checks, l *Load) {
	if p.value == nil {
		return
	}
	if p.For.occurIn(l) || p.value.text(l) != "0" {
		p.value.check(c, p.Key, l)
	}
	if !p.Throughout || !isSet(p.value.text(l)) {
		return
	}
	for _, o := range l.Mix {
		if o.Kind < kv.NumKinds && !p.For.are(o.Kind) {
			c.add(p.Key, "<"+p.Key+"> is for "+p.For.name+", and %s is none", o.Kind)
		}
	}
}

// isSet reports whether the load has the parameter with a value other than false or 0.
func (p *Parameter) isSet(l *Load) bool { return isSet(p.Text(l)) }

func isSet(text string) bool { return text != "" && text != "false" && text != "0" }

// Bounds returns the range in words; empty if any value of its kind is valid.
func (p *Parameter) Bounds() string {
	if p.Range != "" || p.value == nil {
		return p.Range
	}
	return p.value.bounds()
}

// FlagName returns the parameter's flag, without dashes.
func (p *Parameter) FlagName() string {
	if p.Flag != "" {
		return p.Flag
	}
	return p.Key
}

// Hint returns the placeholder for the parameter's value in help.
func (p *Parameter) Hint() string {
	if p.value == nil {
		return "LEVEL"
	}
	return p.value.hint()
}

// group returns the mapping that the parameter is an entry of, if any, and its key.
func (p *Parameter) group() (of, key string) {
	if of, key, nested := strings.Cut(p.Key, "."); nested {
		return of, key
	}
	return "", p.Key
}

// expands reports whether the parameter expands a trial to several and is not part of each
// of them.
func (p *Parameter) expands() bool { return p.set == nil && p.value == nil }

// readFrom reads a file's value into the draft.
func (p *Parameter) readFrom(d *draft, n *node) error {
	if p.set != nil {
		return p.set(d, p.Key, n)
	}
	return p.value.read(d, p.Key, n)
}

// readEntries reads a mapping whose entries are parameters.
func readEntries(d *draft, mapping string, n *node) error {
	readers := make(map[string]func(*node) error)
	for _, p := range d.parameters {
		if of, key := p.group(); of == mapping {
			readers[key] = func(n *node) error { return p.readFrom(d, n) }
		}
	}
	return n.fields(mapping, readers)
}

// keep returns a function that reads a value and stores it in the draft.
func keep[T any](read func(*node, string) (T, error), field func(*draft) *T) func(*draft, string, *node) error {
	return func(d *draft, key string, n *node) (err error) {
		*field(d), err = read(n, key)
		return err
	}
}

// parsedBy returns a function that reads a word with a parser.
func parsedBy[T any](parse func(string) (T, error)) func(*node, string) (T, error) {
	return func(n *node, key string) (T, error) { return parsed(n, key, parse) }
}
