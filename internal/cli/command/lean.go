package command

import (
	"os"
	"runtime/debug"
)

// heapGrowth is by how much the heap grows between two collections while a run goes
// on, in percent: a load allocates little, so that collecting twice as often costs
// nothing, and the generator's memory stands in every result.
const heapGrowth = 50

// lean has a run take little memory, until what it returns is called. Who sets GOGC
// decides alone.
func lean() func() {
	giveBackPages()
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(heapGrowth)
	return func() { debug.SetGCPercent(before) }
}
