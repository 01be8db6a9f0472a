package scenario

import (
	"encoding/json"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
)

// Parameter is the single definition of a parameter. Scenario files, the flags of `bench` and of
// checks, their messages, records, and comparisons of loads all use it. Tests compare it with the
// tables in docs.
type Parameter struct {
	// Key is the name in scenario files and records. If the parameter is an entry of a mapping, a
	// dot separates the two keys, for example watch.streams.
	Key string
	// Flag is the name of the flag in `bench` commands, if it differs from Key.
	Flag string
	// Meaning is a phrase for help. FileMeaning replaces it for scenario files if their values have
	// another form.
	Meaning, FileMeaning string
	// FileOnly is set if only scenario files have the parameter, so that no command has a flag for
	// it.
	FileOnly bool
	// Range describes the valid values. If it is empty, the description in the field value applies.
	Range string
	// DifferenceName is the parameter's name in sentences about differences between two loads.
	// Comparisons of loads ignore parameters without this name.
	DifferenceName string
	// Presentation defines how reports show the parameter. It is nil if reports do not show the
	// parameter, or if the table has fixed columns for it.
	Presentation *Presentation
	// Note is a sentence that reports print for a load with this parameter.
	Note string
	// Operations selects the operations for which the parameter has a meaning. If WholeMix is set,
	// all operations in the mix must be among them.
	Operations operations
	WholeMix   bool
	// Features are the features that the store must have.
	Features []kv.Feature
	// OpenLoop is set if only open loops have the parameter. ClosedLoop is set if the parameter is
	// ignored when open loops are compared.
	OpenLoop, ClosedLoop bool

	column *column // column in the output of a dry run; nil if there is none

	trialOnly   bool // allowed only in a trial itself, not in defaults or matrix
	notInMatrix bool // allowed in a trial and in defaults, but not in matrix
	value       value
	readFile    func(d *draft, key string, n *file.Node) error // reads a value from a file; if nil, value.read is used
	fileSchema  func() jsonSchema                              // schema of the values in a file; if nil, value.schema is used
}

// operations is a named set of operations. The zero value means all operations.
type operations struct {
	name     string
	contains func(kv.Kind) bool
}

var (
	readOperations          = operations{"reads", kv.Kind.Reads}
	singleRequestOperations = operations{"operations that have a single request and response", kv.Kind.SingleRequest}
	rangeOperations         = operations{"range and txn-get operations", isRange}
	plainRangeOperations    = operations{"range operations", isPlainRange}
	txnOperations           = operations{"transactions", isTxn}
	stmOperations           = operations{"stm operations", isSTM}
)

// occurIn reports whether the load has any of the operations.
func (o operations) occurIn(l *Load) bool { return o.contains == nil || l.hasKind(o.contains) }

// column is the column for a parameter in a dry run. If its fields are zero, the parameter's key is
// the title, and the text of its value is the cell.
type column struct {
	title string
	cell  func(*Trial) string
	// optional omits the column if no trial has the parameter. Otherwise, the cells of trials
	// without the parameter contain the text in the field emptyText.
	optional  bool
	emptyText string
}

// Presentation defines how reports show one parameter of a load, or several related parameters. If
// the values are the same in all trials, reports show them above the table, and otherwise in a
// column.
type Presentation struct {
	Title string // title of the column
	// Cell returns the text in the column, and Heading the phrase above the table. Both return an
	// empty string if the load has nothing to show.
	Cell, Heading func(*Load) string
}

// value reads, checks and formats the value of a parameter in a load.
type value interface {
	// hint returns the placeholder for the value in help. bounds describes the valid values.
	hint() string
	bounds() string
	// schema returns the JSON Schema of the values in a file.
	schema() jsonSchema
	// parse reads a value from a flag, and read reads a value from a file. Neither checks bounds,
	// except for values that do not fit into the field.
	parse(l *Load, text string) error
	read(d *draft, key string, n *file.Node) error
	check(c *checks, key string, l *Load)
	// text returns the value as text, or an empty string if the load has no value. parse accepts
	// this text, with two exceptions: a rate that is a percentage of another trial's throughput, and
	// the hexadecimal digits of a key that cannot be printed.
	text(l *Load) string
	// encode returns the value for JSON, or nil if scenario files would omit it. decode reads the
	// encoded value.
	encode(l *Load) any
	decode(l *Load, b json.RawMessage) error
}

// draft is a trial whose values are being read.
type draft struct {
	parameters     map[string]*Parameter
	keyNamer       keyNamer
	name           string // as written, so it may be a template
	load           Load
	cluster        Cluster
	runningCluster RunningCluster
	settings       *file.Node
	consistency    kv.Consistency // for reads without a consistency of their own
	repeats        int
	workerHosts    []string
	mixPositions   []file.Position // positions of the operations in the mix

	scaleDuration bool // set if the window is scaled like totals
}

// BelongsToLoad reports whether the parameter belongs to a load. Other parameters belong to the
// cluster or expand trials.
func (p *Parameter) BelongsToLoad() bool { return p.value != nil }

// Text returns the load's value as flags and files write it, or an empty string if there is none.
func (p *Parameter) Text(l *Load) string {
	if p.value == nil || !p.applies(l) {
		return ""
	}
	return p.value.text(l)
}

// applies reports whether the parameter has a meaning for the load.
func (p *Parameter) applies(l *Load) bool {
	return p.Operations.occurIn(l) && (!p.OpenLoop || l.Arrival != Closed)
}

// check checks the value independently of other parameters.
func (p *Parameter) check(c *checks, l *Load) {
	if p.value == nil {
		return
	}
	if p.Operations.occurIn(l) || p.value.text(l) != "0" {
		p.value.check(c, p.Key, l)
	}
	if !p.WholeMix || !isSet(p.value.text(l)) {
		return
	}
	for _, o := range l.Mix {
		if o.Kind < kv.NumKinds && !p.Operations.contains(o.Kind) {
			c.add(p.Key, "<"+p.Key+"> applies only to "+p.Operations.name+", and %s is not one of them", o.Kind)
		}
	}
}

// isSet reports whether the load has a value for the parameter other than false or 0.
func (p *Parameter) isSet(l *Load) bool { return isSet(p.Text(l)) }

func isSet(text string) bool { return text != "" && text != "false" && text != "0" }

// Bounds describes the valid values. It is empty if every value of the type is valid.
func (p *Parameter) Bounds() string {
	if p.Range != "" || p.value == nil {
		return p.Range
	}
	return p.value.bounds()
}

// FlagName returns the name of the parameter's flag, without dashes.
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

// group splits the key of a mapping's entry, such as watch.streams, into the keys of the mapping
// and of the entry. For any other parameter, the key of the mapping is empty.
func (p *Parameter) group() (mapping, key string) {
	if of, key, nested := strings.Cut(p.Key, "."); nested {
		return of, key
	}
	return "", p.Key
}

// expands reports whether the parameter expands a trial into several trials, so that the resulting
// trials do not have it.
func (p *Parameter) expands() bool { return p.readFile == nil && p.value == nil }

// readFrom reads a value from a file into the draft.
func (p *Parameter) readFrom(d *draft, n *file.Node) error {
	if p.readFile != nil {
		return p.readFile(d, p.Key, n)
	}
	return p.value.read(d, p.Key, n)
}

// readEntries reads a mapping whose entries are parameters.
func readEntries(d *draft, mapping string, n *file.Node) error {
	readers := make(map[string]func(*file.Node) error)
	for _, p := range d.parameters {
		if of, key := p.group(); of == mapping {
			readers[key] = func(n *file.Node) error { return p.readFrom(d, n) }
		}
	}
	return n.Fields(mapping, readers)
}

// intoDraft returns a function that reads a value and stores it in the draft.
func intoDraft[T any](read func(*file.Node, string) (T, error), field func(*draft) *T) func(*draft, string, *file.Node) error {
	return func(d *draft, key string, n *file.Node) (err error) {
		*field(d), err = read(n, key)
		return err
	}
}

// wordReader returns a function that reads a word and parses it.
func wordReader[T any](parse func(string) (T, error)) func(*file.Node, string) (T, error) {
	return func(n *file.Node, key string) (T, error) { return file.ParseWord(n, key, parse) }
}
