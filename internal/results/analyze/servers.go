package analyze

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Servers is what all members' processes used at most in the window. None is known
// where nothing was watched.
type Servers struct {
	CPU record.Value // processors in use, of a second; 1 is one of them
	RSS record.Value // resident bytes at a time
}

// ServersOf reads it from a trial's machines.csv in a run directory.
func ServersOf(dir string, t *record.Trial) (Servers, error) {
	if t.Opened == nil {
		return Servers{}, nil
	}
	rows, err := record.OpenMachines(dir, t.Folder)
	if err != nil {
		return Servers{}, err
	}
	return servers(rows, inWindow(t)), nil
}

// servers is the most of the rows of a span.
func servers(rows []record.MachineRow, in span) Servers {
	type second struct{ cpu, rss float64 }
	var s Servers
	seconds := map[time.Time]second{}
	eachPair(rows, in, func(of pair) {
		if r := of.now; r.Member() {
			at := seconds[r.Time.Truncate(time.Second)]
			seconds[r.Time.Truncate(time.Second)] = second{at.cpu + of.processors(), at.rss + r.RSS}
		}
	})
	for _, at := range seconds {
		s.CPU = record.Value{Number: max(s.CPU.Number, at.cpu), Unit: measure.Number, Known: true}
		s.RSS = record.Value{Number: max(s.RSS.Number, at.rss), Unit: measure.Bytes, Known: true}
	}
	return s
}
