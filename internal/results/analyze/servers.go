package analyze

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Servers is what the members used in the window, and the machines that they run on.
// What is not recorded of all of them is not known.
type Servers struct {
	// Of all members' processes together, at most:
	CPU record.Value // processors in use, of a second; 1 is one of them
	RSS record.Value // resident bytes at a time
	// Bytes that all members' connections carried.
	Received, Sent record.Value
	// Disk requests and sectors of a machine with members: the mean of these machines.
	Reads, ReadSectors, Writes, WrittenSectors record.Value
	// DiskSpace is what a member's data folder took at the end: the mean of the members.
	DiskSpace record.Value
	// Seconds are what each process used, with its machine, in the order of their
	// first rows.
	Seconds []ServerSeconds
	// ByKey are by cumulative key number, a row for each of the trial's KeyTable.
	ByKey []ServerKeys
}

// ServerSeconds is what a process used in each second that was sampled, and its
// machine.
type ServerSeconds struct {
	Name      string
	Generator bool
	Rows      []ServerSecond
}

// ServerSecond is a process's row of machines.csv with what was used since the row
// before; NaN is not known.
type ServerSecond struct {
	Process, Machine record.MachineRow
	Percent          float64 // processors in use; 100 is one of them
	Reads, ReadSectors, Writes, WrittenSectors,
	ReadBytes, WriteBytes, Received, ReceivedPackets, Sent, SentPackets float64
}

// ServerKeys is what members held and did while a row of keys was completed; not
// known is NaN.
type ServerKeys struct {
	Keys uint64
	// Resident memory of a member's process, in megabytes of a million bytes.
	MinRSS, MeanRSS, MaxRSS float64
	// Bytes that a member's process read from a disk and wrote to one: the mean of the
	// members.
	ReadBytes, WriteBytes float64
}

// ServersOf reads them from a trial's machines.csv. keys may be nil.
func ServersOf(t *record.Trial, keys []KeyRow) (Servers, error) {
	if t.Opened == nil {
		return Servers{}, nil
	}
	rows, err := record.OpenMachines(t.Dir, t.Folder)
	if err != nil {
		return Servers{}, err
	}
	s := servers(rows, inWindow(t))
	s.overWindow(t, rows)
	s.Seconds = serverSeconds(rows, inWindow(t))
	s.ByKey = serverKeys(rows, keys)
	return s, nil
}

// servers is the most of the rows of a span.
func servers(rows []record.MachineRow, in span) Servers {
	type use struct{ cpu, rss float64 }
	var s Servers
	seconds := map[time.Time]map[string]use{} // by member: each counts once in a second
	eachPair(rows, in, func(of pair) {
		if r := of.now; r.Member() {
			at := r.Time.Truncate(time.Second)
			if seconds[at] == nil {
				seconds[at] = map[string]use{}
			}
			seconds[at][r.Name] = use{of.processors(), r.RSS}
		}
	})
	most := func(to *record.Value, v float64, unit measure.Unit) {
		if !math.IsNaN(v) {
			*to = record.Value{Number: max(to.Number, v), Unit: unit, Known: true}
		}
	}
	for _, members := range seconds {
		cpu, rss := 0.0, 0.0
		for _, u := range members {
			cpu, rss = cpu+u.cpu, rss+u.rss
		}
		most(&s.CPU, cpu, measure.Number)
		most(&s.RSS, rss, measure.Bytes)
	}
	return s
}

// overWindow adds what came together over the window.
func (s *Servers) overWindow(t *record.Trial, rows []record.MachineRow) {
	sums := map[string]map[*record.Value]float64{} // by the rows' names
	folders := map[string]float64{}
	in := inWindow(t)
	eachPairThat(rows, in, (*record.MachineRow).Continues, func(of pair) { // a gap takes nothing from a sum
		counters := map[*record.Value]func(*record.MachineRow) float64{}
		switch kind := of.now.Kind(); {
		case kind == record.MemberRow:
			counters[&s.Received] = func(r *record.MachineRow) float64 { return r.Received }
			counters[&s.Sent] = func(r *record.MachineRow) float64 { return r.Sent }
			if b := of.now.FolderBytes; !math.IsNaN(b) {
				folders[of.now.Name] = b
			}
		case kind == record.WholeRow && hasMembers(t, of.now.Name):
			counters[&s.Reads] = func(r *record.MachineRow) float64 { return r.DiskReads }
			counters[&s.Writes] = func(r *record.MachineRow) float64 { return r.DiskWrites }
			counters[&s.ReadSectors] = func(r *record.MachineRow) float64 { return r.ReadSectors }
			counters[&s.WrittenSectors] = func(r *record.MachineRow) float64 { return r.WrittenSectors }
		}
		for to, counter := range counters {
			if sums[of.now.Name] == nil {
				sums[of.now.Name] = map[*record.Value]float64{}
			}
			sums[of.now.Name][to] += of.grown(counter) // NaN stays
		}
	})
	count := map[*record.Value]float64{}
	for _, of := range sums {
		for to, sum := range of {
			to.Number += sum
			count[to]++
		}
	}
	for to, n := range count {
		if to.Known = !math.IsNaN(to.Number); to != &s.Received && to != &s.Sent {
			to.Number /= n
		}
		to.Unit = measure.Number
	}
	for _, bytes := range folders {
		s.DiskSpace = record.Value{Number: s.DiskSpace.Number + bytes/float64(len(folders)), Unit: measure.Bytes, Known: true}
	}
}

// serverSeconds puts processes and their machines together, second by second.
func serverSeconds(rows []record.MachineRow, in span) (all []ServerSeconds) {
	type at struct {
		name string
		unix int64
	}
	machines := map[at]pair{}
	eachPair(rows, in, func(of pair) {
		if of.now.Kind() == record.WholeRow {
			machines[at{of.now.Name, of.now.Time.Unix()}] = of
		}
	})
	eachPair(rows, in, func(of pair) {
		kind := of.now.Kind()
		if kind != record.MemberRow && kind != record.GeneratorRow {
			return
		}
		i := slices.IndexFunc(all, func(s ServerSeconds) bool { return s.Name == of.now.Name })
		if i < 0 {
			i = len(all)
			all = append(all, ServerSeconds{Name: of.now.Name, Generator: kind == record.GeneratorRow})
		}
		name := of.now.Machine
		if name == "" { // of an older version, which had one machine mostly
			name = record.MachineName
		}
		machine, ok := machines[at{name, of.now.Time.Unix()}]
		if !ok {
			none := record.NewMachineRow(of.now.Time, name)
			machine = pair{none, none, 1}
		}
		all[i].Rows = append(all[i].Rows, serverSecond(of, machine))
	})
	return all
}

func serverSecond(of, machine pair) ServerSecond {
	return ServerSecond{
		Process: *of.now, Machine: *machine.now, Percent: 100 * of.processors(),
		Reads:           machine.grown(func(r *record.MachineRow) float64 { return r.DiskReads }),
		Writes:          machine.grown(func(r *record.MachineRow) float64 { return r.DiskWrites }),
		ReadSectors:     machine.grown(func(r *record.MachineRow) float64 { return r.ReadSectors }),
		WrittenSectors:  machine.grown(func(r *record.MachineRow) float64 { return r.WrittenSectors }),
		ReadBytes:       of.grown(func(r *record.MachineRow) float64 { return r.ReadBytes }),
		WriteBytes:      of.grown(func(r *record.MachineRow) float64 { return r.WriteBytes }),
		Received:        machine.grown(func(r *record.MachineRow) float64 { return r.Received }),
		ReceivedPackets: machine.grown(func(r *record.MachineRow) float64 { return r.ReceivedPackets }),
		Sent:            machine.grown(func(r *record.MachineRow) float64 { return r.Sent }),
		SentPackets:     machine.grown(func(r *record.MachineRow) float64 { return r.SentPackets }),
	}
}

// serverKeys puts what members used into the spans of time in which keys were
// completed.
func serverKeys(rows []record.MachineRow, keys []KeyRow) (all []ServerKeys) {
	if len(keys) == 0 {
		return nil
	}
	nan := math.NaN()
	type sums struct{ rss, samples float64 }
	memory := make([]sums, len(keys))
	io := make([]map[string][2]float64, len(keys)) // by member
	for _, k := range keys {
		all = append(all, ServerKeys{k.Keys, nan, nan, nan, nan, nan})
	}
	eachPair(rows, always, func(of pair) {
		at := of.middle()
		i := sort.Search(len(keys), func(i int) bool { return keys[i].To.After(at) })
		if i == len(keys) || at.Before(keys[i].From) || !of.now.Member() {
			return
		}
		row := &all[i]
		if rss := of.now.RSS / 1e6; !math.IsNaN(rss) {
			if memory[i].samples == 0 {
				row.MinRSS, row.MaxRSS = rss, rss
			}
			row.MinRSS, row.MaxRSS = min(row.MinRSS, rss), max(row.MaxRSS, rss)
			memory[i].rss += rss
			memory[i].samples++
			row.MeanRSS = memory[i].rss / memory[i].samples
		}
		if io[i] == nil {
			io[i] = map[string][2]float64{}
		}
		sum := io[i][of.now.Name]
		sum[0] += of.grown(func(r *record.MachineRow) float64 { return r.ReadBytes })
		sum[1] += of.grown(func(r *record.MachineRow) float64 { return r.WriteBytes })
		io[i][of.now.Name] = sum
	})
	for i, members := range io {
		read, written := 0.0, 0.0
		for _, sum := range members {
			n := float64(len(members))
			read += sum[0] / n
			written += sum[1] / n
		}
		if len(members) > 0 {
			all[i].ReadBytes, all[i].WriteBytes = read, written
		}
	}
	return all
}
