package command

import (
	"os"
	"runtime/debug"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// heapGrowth is the value of GOGC during a load, in percent. A load allocates little, and the
// generator's memory is part of every result
// (docs/decisions/0015-release-start-up-memory-before-a-load.md).
const heapGrowth = 50

// ReduceMemory reduces the memory of the load generator until the returned function is called. It
// does nothing if the environment variable GOGC is set.
func ReduceMemory() (end func()) {
	probe.ReleasePages()
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(heapGrowth)
	return func() { debug.SetGCPercent(before) }
}
