package scenario

import (
	"encoding/json"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Parameter is the one definition of a parameter of a trial. Scenario files,
// the flags of bench, the checks and their sentences, records and the comparison
// of loads have it from here, and the tables in docs are held to it.
type Parameter struct {
	// Key is what scenario files and records call it. A point parts the key of a
	// mapping from that of an entry, as in watch.streams.
	Key string
	// Flag is what the commands of bench call it, if not like its key.
	Flag string
	// Meaning is a phrase for help.
	Meaning string
	// Range is its range in words, if it is not that of its value.
	Range string
	// Differs is what a sentence calls it that says in what two loads differ.
	// Loads are the same if they differ only in parameters without.
	Differs string
	// Reads is how reports say it; nil where the table has it in columns of its
	// own, or nobody says it.
	Reads *Reading
	// Note is a sentence below the report of such a load.
	Note string
	// For are the operations that it is for. Throughout refuses it where a mix has
	// others, too.
	For        operations
	Throughout bool
	// Features are what a store must have for it.
	Features []kv.Feature
	// OpenLoop is for a parameter that an open loop alone has, ClosedLoop for
	// one by which open loops are not told apart.
	OpenLoop, ClosedLoop bool

	column *column // in the list of a dry run; nil for none

	alone  bool // of a trial itself, and neither of defaults nor of matrix
	shared bool // of a trial and of defaults, but not of matrix
	value  value
	set    func(d *draft, key string, n *node) error // reads a file's value; value.read if nil
}

// operations are some of them, with a name for all. The zero value is all that
// there are.
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

// in reports whether the load has any of the operations.
func (o operations) in(l *Load) bool { return o.are == nil || l.has(o.are) }

// column is what a dry run says of a parameter in a column of its own. The zero
// column has the parameter's key above, and its text.
type column struct {
	title string
	cell  func(*Trial) string
	// optional leaves the column out where no trial has the parameter; one that
	// has not then says none.
	optional bool
	none     string
}

// Reading is how reports say one parameter of a load, or several that belong
// together: above the table where all trials share it, in a column of its own
// where they do not.
type Reading struct {
	Title string // of the column
	// Cell is the column's text, and Above the phrase above the table; either is
	// empty where there is nothing to say.
	Cell, Above func(*Load) string
}

// value is where a load keeps a parameter, and how it is written.
type value interface {
	// hint stands for the value in help, and bounds is its range in words.
	hint() string
	bounds() string
	// parse reads what stands behind a flag, and read what a file has. Neither
	// looks at bounds, but for values that a load has no room for.
	parse(l *Load, text string) error
	read(d *draft, key string, n *node) error
	check(c *checks, key string, l *Load)
	// textValue is the value as parse reads it; empty where the load has none.
	text(l *Load) string
	// encode is the value for JSON, nil where a scenario file would not say it,
	// and decode reads it back.
	encode(l *Load) any
	decode(l *Load, b json.RawMessage) error
}

// draft is a trial in the making: what its values are, as they are read.
type draft struct {
	parameters  map[string]*Parameter
	called      words
	name        string // as written: a template
	load        Load
	cluster     Cluster
	attach      Attach
	settings    *node
	consistency kv.Consistency // of reads that give none of their own
	repeats     int
	workersOn   []string
	places      []place // of the mix's operations

	scaleDuration bool // the window is scaled as totals are
}

// OfLoad reports whether the parameter is one of a load, and not of a cluster or
// of how trials are made.
func (p *Parameter) OfLoad() bool { return p.value != nil }

// Text is the load's value as flags and files write it; empty without one.
func (p *Parameter) Text(l *Load) string {
	if p.value == nil || !p.applies(l) {
		return ""
	}
	return p.value.text(l)
}

// applies reports whether the parameter has a meaning for the load.
func (p *Parameter) applies(l *Load) bool {
	return p.For.in(l) && (!p.OpenLoop || l.Arrival != Closed)
}

// check looks at the value by itself.
func (p *Parameter) check(c *checks, l *Load) {
	if p.value == nil {
		return
	}
	if p.For.in(l) || p.value.text(l) != "0" {
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

// isSet reports whether the load has the parameter, and it is not false or 0.
func (p *Parameter) isSet(l *Load) bool { return isSet(p.Text(l)) }

func isSet(text string) bool { return text != "" && text != "false" && text != "0" }

// Bounds returns the range in words; empty if any value of its kind will do.
func (p *Parameter) Bounds() string {
	if p.Range != "" || p.value == nil {
		return p.Range
	}
	return p.value.bounds()
}

// FlagName is the parameter's flag, without dashes.
func (p *Parameter) FlagName() string {
	if p.Flag != "" {
		return p.Flag
	}
	return p.Key
}

// Hint stands for a parameter's value in help.
func (p *Parameter) Hint() string {
	if p.value == nil {
		return "LEVEL"
	}
	return p.value.hint()
}

// group is the mapping that the parameter is an entry of, if any, and its key.
func (p *Parameter) group() (of, key string) {
	if of, key, nested := strings.Cut(p.Key, "."); nested {
		return of, key
	}
	return "", p.Key
}

// expands reports whether the parameter makes several trials of one, and is
// nothing of each.
func (p *Parameter) expands() bool { return p.set == nil && p.value == nil }

// readFrom reads a file's value into the draft.
func (p *Parameter) readFrom(d *draft, n *node) error {
	if p.set != nil {
		return p.set(d, p.Key, n)
	}
	return p.value.read(d, p.Key, n)
}

// readEntries reads the mapping of a parameter whose entries are parameters.
func readEntries(d *draft, mapping string, n *node) error {
	readers := make(map[string]func(*node) error)
	for _, p := range d.parameters {
		if of, key := p.group(); of == mapping {
			readers[key] = func(n *node) error { return p.readFrom(d, n) }
		}
	}
	return n.fields(mapping, readers)
}

// keep reads a value and keeps it.
func keep[T any](read func(*node, string) (T, error), field func(*draft) *T) func(*draft, string, *node) error {
	return func(d *draft, key string, n *node) (err error) {
		*field(d), err = read(n, key)
		return err
	}
}

// parsedBy reads a word with a parser.
func parsedBy[T any](parse func(string) (T, error)) func(*node, string) (T, error) {
	return func(n *node, key string) (T, error) { return parsed(n, key, parse) }
}
