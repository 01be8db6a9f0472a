package analyze

import "github.com/quorumbench/quorumbench/internal/results/record"

// Table is one of a report's tables.
type Table struct {
	Kind    TableKind
	Shared  string // what all trials of a closed loop share and the heading says, or whose workers or hosts they are; empty for nothing
	Columns []Column
	Rows    [][]Cell
	// Footnotes are what cells refer to, the first as 1.
	Footnotes []string
	Response  bool // of closed loops: the times are response times
	Repeated  bool // some row is of several repeats
	Members   bool // some column's figures are sums of all members
	LeftOut   bool // some row has repeats with figures that do not count
	Doubted   bool // some cell is
}

// TableKind says what a table is of.
type TableKind uint8

// The kinds.
const (
	ClosedLoop TableKind = iota
	OpenLoop
	WatchEvents
	Compares
	OfWorkers
	OfCalls
	OfHosts
	OfFaults
)

// Column is the head of a column.
type Column struct {
	Title string
	Left  bool // names; figures stand right
	Wide  bool // a terminal's tables have no room for it
	// Members says that its figures are sums of all members.
	Members bool
}

// Cell is words, or a figure.
type Cell struct {
	Text  string
	Notes []int // of the footnotes that the words refer to
	Value record.Value
	Share record.Value // of what the figure is a part of, where that is known
	// Change is how much the figure differs from its baseline.
	Change Change
	// Certainty is how sure the figure in the cell before is; nil where nobody knows.
	Certainty *Certainty
	Kind      CellKind
	// Doubted says that the figure may be off by more than a trial's verdict allows.
	Doubted bool
}

// CellKind says what a cell holds.
type CellKind uint8

// The kinds.
const (
	Words CellKind = iota
	OneFigure
	HowSure
	Changed
	IntervalOfChange
	WordOfChange
)
