package analyze

import (
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Table is a table in a report.
type Table struct {
	Kind TableKind
	// the load that all closed-loop trials have in common, or the trial to which the table belongs;
	// may be empty
	CommonLoad string
	Columns    []Column
	Rows       [][]Cell
	// Footnotes are the sentences to which cells refer. The first footnote has the number 1.
	Footnotes     []string
	ResponseTimes bool // for closed loops: set if the times are response times
	Repeated      bool // set if a row has several repeats
	SumsMembers   bool // set if a column shows sums over all members
	OmitsRepeats  bool // set if a row has repeats whose figures are not used
	Doubted       bool // set if at least one cell has Doubted set
}

// TableKind describes what a table contains.
type TableKind uint8

// The values of TableKind.
const (
	ClosedLoop TableKind = iota
	OpenLoop
	WatchEvents
	ComparisonKind
	WorkersKind
	CallsKind
	HostsKind
	FaultsKind
)

// Column is the heading and the layout of a column.
type Column struct {
	Title       string
	LeftAligned bool // set for names, which are left-aligned; figures are right-aligned
	Wide        bool // shown only in wide output
	// Condition is set if the column contains a condition of the trials. If the condition is the
	// same for all rows, a narrow terminal shows it once, above the table.
	Condition bool
	// Drop determines which columns a narrow terminal omits until the table fits. Columns with the
	// highest value are omitted first. Columns with 0 are always shown.
	Drop int
	// SumsMembers is set if the figures are sums over all members.
	SumsMembers bool
}

// Cell is one cell of a table: a text or a figure.
type Cell struct {
	Text  string
	Notes []int // numbers of the footnotes for the text
	Value figures.Value
	Share figures.Value // the figure as a share of its total, if known
	// Change is the difference between the figure and the baseline.
	Change Change
	// Certainty is the confidence interval or range of the figure in the previous cell. It is nil
	// if unknown.
	Certainty *Certainty
	Kind      CellKind
	// Doubted is set if the error of the figure may be larger than a valid verdict allows.
	Doubted bool
	// Worst is set if the figure is the worst in its column, or not clearly better than the worst.
	// It is not set if the figures of the column do not clearly differ.
	Worst bool
	// Judged is the worst verdict in the text. It is empty if the text contains no verdict.
	Judged verdict.State
}

// CellKind describes what a cell contains.
type CellKind uint8

// The values of CellKind.
const (
	TextCell CellKind = iota
	FigureValueCell
	CertaintyCell
	ChangeCell
	ChangeIntervalCell
	JudgementCell
)
