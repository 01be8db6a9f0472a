package command

import (
	"os"
	"runtime/debug"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// heapGrowth is by how much the heap grows between two collections while a load may
// go on, in percent: a load allocates little, and the generator's memory stands in
// every result (docs/decisions/0015-release-start-up-memory-before-a-load.md).
const heapGrowth = 50

// Lean has a generator take little memory, until what it returns is called. Who sets
// GOGC decides alone.
func Lean() (end func()) {
	probe.GiveBackPages()
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(heapGrowth)
	return func() { debug.SetGCPercent(before) }
}
