//go:build race

package verdictbench

// raced says that the race detector makes each trial ten times as long; make
// unit runs the sample without it, too.
const raced = true
