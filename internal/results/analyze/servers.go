package analyze

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Servers is what all members' processes used at most in the window, as far as
// they run on the generator's machine. None is known where nothing was watched.
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
	return servers(rows, t.Opened.Unix(), t.Opened.Add(time.Duration(t.Seconds*1e9)).Unix()), nil
}

// servers is the most of the rows from one second to another.
func servers(rows []record.MachineRow, from, to int64) Servers {
	type second struct{ cpu, rss float64 }
	var s Servers
	seconds := map[int64]second{}
	eachUse(rows, from, to, func(r record.MachineRow, processors float64) {
		if r.Member() {
			at := seconds[r.Unix]
			seconds[r.Unix] = second{at.cpu + processors, at.rss + float64(r.RSSBytes)}
		}
	})
	for _, at := range seconds {
		s.CPU = record.Value{Number: max(s.CPU.Number, at.cpu), Unit: measure.Number, Known: true}
		s.RSS = record.Value{Number: max(s.RSS.Number, at.rss), Unit: measure.Bytes, Known: true}
	}
	return s
}

// eachUse hands over the rows from one second to another, each with the
// processors that its process, or the machine, used since the row before; 0 if
// it was started again meanwhile.
func eachUse(rows []record.MachineRow, from, to int64, each func(r record.MachineRow, processors float64)) {
	before := map[string]record.MachineRow{} // by name
	for _, r := range rows {
		last, seen := before[r.Name]
		before[r.Name] = r
		if seen && r.Unix > last.Unix && last.Unix >= from && r.Unix <= to {
			each(r, max(r.CPUSeconds-last.CPUSeconds, 0)/float64(r.Unix-last.Unix))
		}
	}
}
