package analyze

import "github.com/quorumbench/quorumbench/internal/results/record"

// Table is a table of a report.
type Table struct {
	Kind    TableKind
	Shared  string // the load that all closed-loop trials share, or the trial of the workers or hosts; empty for none
	Columns []Column
	Rows    [][]Cell
	// Footnotes are the sentences that cells refer to, numbered from 1.
	Footnotes []string
	Response  bool // of closed loops: the times are response times
	Repeated  bool // some row has several repeats
	Members   bool // some column's figures are sums of all members
	LeftOut   bool // some row has repeats whose figures do not count
	Doubted   bool // some cell is doubted
}

// TableKind is the content of a table.
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

// Column is a column's heading and layout.
type Column struct {
	Title string
	Left  bool // left-aligned names; figures are right-aligned
	Wide  bool // only wide output shows it
	// Condition reports whether the column holds a condition of the trials. Where all rows have the
	// same one, a narrow terminal shows it once, above the table.
	Condition bool
	// Drop orders the columns that a narrow terminal leaves out until the table fits, the highest
	// first. Columns with 0 always stay.
	Drop int
	// Members reports whether the figures are sums over all members.
	Members bool
}

// Cell is a text or a figure.
type Cell struct {
	Text  string
	Notes []int // footnotes of the text
	Value record.Value
	Share record.Value // the figure's share of its total, if known
	// Change is the difference from the baseline.
	Change Change
	// Certainty is the interval of the figure in the previous cell; nil if unknown.
	Certainty *Certainty
	Kind      CellKind
	// Doubted reports whether the figure may be off by more than a trial's verdict allows.
	Doubted bool
}

// CellKind is the content of a cell.
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
