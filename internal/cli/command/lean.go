package command

import (
	"os"
	"runtime/debug"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// heapGrowth is GOGC during a load, in percent. A load allocates little, and every result includes
// the load generator's memory (docs/decisions/0015-release-start-up-memory-before-a-load.md).
const heapGrowth = 50

// Lean reduces the memory of the load generator until the returned function is called. It does not
// override the environment variable GOGC.
func Lean() (end func()) {
	probe.GiveBackPages()
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(heapGrowth)
	return func() { debug.SetGCPercent(before) }
}
