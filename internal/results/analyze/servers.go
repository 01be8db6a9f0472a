package analyze

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Servers is the resource use of the members and their machines in the measurement window. A value
// is unknown if it was not recorded for all members or machines.
type Servers struct {
	// CPU and RSS are computed from the sum of all members' values in each second. The fields hold
	// the highest of these sums:
	CPU figures.Value // CPUs in use during one second
	RSS figures.Value // resident memory in bytes
	// Received and Sent are the bytes received and sent on all members' connections.
	Received, Sent figures.Value
	// Disk requests and sectors of a machine with members: the mean over these machines.
	Reads, ReadSectors, Writes, WrittenSectors figures.Value
	// DiskSpace is the size of a member's data folder at the end of the window: the mean over the
	// members.
	DiskSpace figures.Value
	// Processes holds the resource use of each process and its machine, in the order in which they
	// first appear in machines.csv.
	Processes []ServerSeconds
	// ByKey holds the resource use by the cumulative number of keys, with a row for each row of the
	// trial's KeyTable.
	ByKey []ServerKeys
}

// ServerSeconds holds the resource use of a process and of its machine in each sampled second.
type ServerSeconds struct {
	Name      string
	Generator bool
	Rows      []ServerSecond
}

// ServerSecond is a row of machines.csv for a process, with the use since the previous row. Unknown
// values are NaN.
type ServerSecond struct {
	Process, Machine record.MachineRow
	Percent          float64 // CPUs in use; 100 means one CPU
	Reads, ReadSectors, Writes, WrittenSectors,
	ReadBytes, WriteBytes, Received, ReceivedPackets, Sent, SentPackets float64
}

// ServerKeys is the members' resource use during the time in which the keys of one KeyRow were
// written. Unknown values are NaN.
type ServerKeys struct {
	Keys uint64
	// MinRSS, MeanRSS and MaxRSS are the resident memory of a member's process in MB (1,000,000
	// bytes).
	MinRSS, MeanRSS, MaxRSS float64
	// ReadBytes and WriteBytes are the bytes that a member's process read from disk and wrote to
	// disk: the mean over the members.
	ReadBytes, WriteBytes float64
}

// ServersOf reads the resource use from a trial's machines.csv. The parameter `keys` may be nil;
// then ByKey is empty.
func ServersOf(t *record.Trial, keys []KeyRow) (Servers, error) {
	if t.Opened == nil {
		return Servers{}, nil
	}
	rows, err := record.OpenMachines(t.Dir, t.Folder)
	if err != nil {
		return Servers{}, err
	}
	s := servers(rows, samples.WindowOf(t))
	s.overWindow(t, rows)
	s.Processes = serverSeconds(rows, samples.WindowOf(t))
	s.ByKey = serverKeys(rows, keys)
	return s, nil
}

// servers computes the maxima over the rows in a span.
func servers(rows []record.MachineRow, span samples.Span) Servers {
	type use struct{ cpu, rss float64 }
	var s Servers
	// by member, so that each member counts only once per second
	seconds := map[time.Time]map[string]use{}
	samples.EachPair(rows, span, func(of samples.Pair) {
		if r := of.Later; r.IsMember() {
			at := r.Time.Truncate(time.Second)
			if seconds[at] == nil {
				seconds[at] = map[string]use{}
			}
			seconds[at][r.Name] = use{of.Processors(), r.RSS}
		}
	})
	most := func(maximum *figures.Value, v float64, unit measure.Unit) {
		if !math.IsNaN(v) {
			*maximum = figures.Value{Number: max(maximum.Number, v), Unit: unit, Known: true}
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

// overWindow adds the totals over the window.
func (s *Servers) overWindow(t *record.Trial, rows []record.MachineRow) {
	in := samples.WindowOf(t)
	byName, folders := map[string][]*record.MachineRow{}, map[string]float64{}
	for i := range rows {
		r := &rows[i]
		member := r.Kind() == record.MemberRow
		if member || r.Kind() == record.WholeMachineRow && samples.HasMembers(t, r.Name) {
			byName[r.Name] = append(byName[r.Name], r)
		}
		if member && !math.IsNaN(r.FolderBytes) && !r.Time.After(in.To.Add(samples.MaxEdgeDistance)) {
			folders[r.Name] = r.FolderBytes
		}
	}
	sum := func(kind record.RowKind, counter func(*record.MachineRow) float64, useMean bool) figures.Value {
		total, names := 0.0, 0.0
		for _, of := range byName {
			if grown, sampled := CounterIncrease(of, in, counter); of[0].Kind() == kind && sampled {
				total, names = total+grown, names+1
			}
		}
		if useMean {
			total /= names
		}
		return figures.Value{Number: total, Unit: measure.Number, Known: names > 0 && !math.IsNaN(total)}
	}
	s.Received = sum(record.MemberRow, func(r *record.MachineRow) float64 { return r.Received }, false)
	s.Sent = sum(record.MemberRow, func(r *record.MachineRow) float64 { return r.Sent }, false)
	s.Reads = sum(record.WholeMachineRow, func(r *record.MachineRow) float64 { return r.DiskReads }, true)
	s.Writes = sum(record.WholeMachineRow, func(r *record.MachineRow) float64 { return r.DiskWrites }, true)
	s.ReadSectors = sum(record.WholeMachineRow, func(r *record.MachineRow) float64 { return r.ReadSectors }, true)
	s.WrittenSectors = sum(record.WholeMachineRow, func(r *record.MachineRow) float64 { return r.WrittenSectors }, true)
	for _, bytes := range folders {
		s.DiskSpace = figures.Value{Number: s.DiskSpace.Number + bytes/float64(len(folders)), Unit: measure.Bytes, Known: true}
	}
}

// CounterIncrease returns the increase of a counter in a span, and whether the span contains rows.
// All given rows must have the same name. The counter may be missing in some rows, because it is
// not read every time (to reduce the load). If the span starts or ends between two rows, the
// counter is interpolated linearly. The increase is NaN if the counter is missing at the start or
// end of the span and no row outside the span has it.
func CounterIncrease(rows []*record.MachineRow, span samples.Span, counter func(*record.MachineRow) float64) (sum float64, sampled bool) {
	var last *record.MachineRow // the latest row in which the counter is present
	missing, reaches := false, false
	for _, r := range rows {
		if r.Time.After(span.From.Add(-samples.MaxEdgeDistance)) && !r.Time.After(span.To.Add(samples.MaxEdgeDistance)) {
			sampled = true
		}
		if math.IsNaN(counter(r)) {
			missing = missing || sampled && last == nil
			reaches = false
			continue
		}
		switch {
		case last == nil:
			missing = missing && r.Time.After(span.From.Add(samples.MaxEdgeDistance))
		case r.Continues(last):
			of := samples.Pair{Earlier: last, Later: r, Seconds: r.Time.Sub(last.Time).Seconds()}
			sum += of.Increase(counter) * span.OverlapShare(last.Time, r.Time)
		}
		last, reaches = r, true
	}
	if missing || last == nil || !reaches && last.Time.Before(span.To.Add(-samples.MaxEdgeDistance)) {
		return math.NaN(), sampled
	}
	return sum, sampled
}

// serverSeconds combines the rows of processes with the rows of their machines for each second.
func serverSeconds(rows []record.MachineRow, span samples.Span) (all []ServerSeconds) {
	type processSecond struct {
		name string
		unix int64
	}
	machines := map[processSecond]samples.Pair{}
	samples.EachPair(rows, span, func(of samples.Pair) {
		if samples.HasNetwork(of.Later) {
			machines[processSecond{of.Later.Name, of.Later.Time.Unix()}] = of
		}
	})
	samples.EachPair(rows, span, func(of samples.Pair) {
		kind := of.Later.Kind()
		if kind != record.MemberRow && kind != record.GeneratorRow {
			return
		}
		i := slices.IndexFunc(all, func(s ServerSeconds) bool { return s.Name == of.Later.Name })
		if i < 0 {
			i = len(all)
			all = append(all, ServerSeconds{Name: of.Later.Name, Generator: kind == record.GeneratorRow})
		}
		name := of.Later.Machine
		row := func(name string) samples.Pair {
			if p, ok := machines[processSecond{name, of.Later.Time.Unix()}]; ok {
				return p
			}
			none := record.NewMachineRow(of.Later.Time, name)
			return samples.Pair{Earlier: none, Later: none, Seconds: 1}
		}
		all[i].Rows = append(all[i].Rows, serverSecond(of, row(name), row(cmp.Or(of.Later.Network, name))))
	})
	return all
}

func serverSecond(process, machine, network samples.Pair) ServerSecond {
	return ServerSecond{
		Process: *process.Later, Machine: *machine.Later, Percent: 100 * process.Processors(),
		Reads:           machine.Increase(func(r *record.MachineRow) float64 { return r.DiskReads }),
		Writes:          machine.Increase(func(r *record.MachineRow) float64 { return r.DiskWrites }),
		ReadSectors:     machine.Increase(func(r *record.MachineRow) float64 { return r.ReadSectors }),
		WrittenSectors:  machine.Increase(func(r *record.MachineRow) float64 { return r.WrittenSectors }),
		ReadBytes:       process.Increase(func(r *record.MachineRow) float64 { return r.ReadBytes }),
		WriteBytes:      process.Increase(func(r *record.MachineRow) float64 { return r.WriteBytes }),
		Received:        network.Increase(func(r *record.MachineRow) float64 { return r.Received }),
		ReceivedPackets: network.Increase(func(r *record.MachineRow) float64 { return r.ReceivedPackets }),
		Sent:            network.Increase(func(r *record.MachineRow) float64 { return r.Sent }),
		SentPackets:     network.Increase(func(r *record.MachineRow) float64 { return r.SentPackets }),
	}
}

// serverKeys adds up the members' resource use in the period of each KeyRow.
func serverKeys(rows []record.MachineRow, keys []KeyRow) []ServerKeys {
	if len(keys) == 0 {
		return nil
	}
	k := usedByKeys{
		keys: keys, memory: make([]memorySum, len(keys)),
		io: make([]map[string][2]float64, len(keys)), unknown: make([]map[string]bool, len(keys)),
	}
	nan := math.NaN()
	for _, row := range keys {
		k.all = append(k.all, ServerKeys{row.Keys, nan, nan, nan, nan, nan})
	}
	anything := func(_, _ *record.MachineRow) bool { return true }
	samples.EachMatchingPair(rows, samples.AllTime(), anything, func(of samples.Pair) {
		if of.Later.IsMember() {
			if i, ok := k.keyRowIndex(of); ok {
				k.add(i, of)
			}
		}
	})
	for i, members := range k.io {
		maps.DeleteFunc(members, func(name string, _ [2]float64) bool { return k.unknown[i][name] })
		read, written := 0.0, 0.0
		for _, sum := range members {
			n := float64(len(members))
			read += sum[0] / n
			written += sum[1] / n
		}
		if len(members) > 0 {
			k.all[i].ReadBytes, k.all[i].WriteBytes = read, written
		}
	}
	return k.all
}

// usedByKeys holds the sums of the members' resource use in the period of each KeyRow.
type usedByKeys struct {
	keys    []KeyRow
	all     []ServerKeys
	memory  []memorySum
	io      []map[string][2]float64 // by member: bytes read and bytes written
	unknown []map[string]bool       // by member: set if the use in a part of the period is unknown
}

type memorySum struct{ rss, samples float64 }

// keyRowIndex returns the index of the KeyRow to which a member's resource use between two samples
// belongs. It returns false if there is no such row, or if the use cannot be assigned to a single
// row.
func (k *usedByKeys) keyRowIndex(interval samples.Pair) (int, bool) {
	rowAt := func(at time.Time) int {
		return sort.Search(len(k.keys), func(i int) bool { return k.keys[i].To.After(at) })
	}
	at := interval.Middle()
	i, last := rowAt(at), rowAt(interval.Later.Time)
	if interval.Later.Follows(interval.Earlier) {
		return i, i < len(k.keys) && !at.Before(k.keys[i].From)
	}
	// The samples have a gap. The use in the gap is assigned only if the whole gap is in one
	// period.
	i = rowAt(interval.Earlier.Time)
	if within := i == last && i < len(k.keys) && !interval.Earlier.Time.Before(k.keys[i].From); within && interval.Later.Continues(interval.Earlier) {
		return i, true
	}
	for ; i <= last && i < len(k.keys); i++ {
		if k.keys[i].From.Before(interval.Later.Time) {
			k.unknown[i] = addToSet(k.unknown[i], interval.Later.Name)
		}
	}
	return 0, false
}

// add adds a member's use between two samples to the row with index i.
func (k *usedByKeys) add(i int, interval samples.Pair) {
	row, sum := &k.all[i], &k.memory[i]
	if rss := interval.Later.RSS / 1e6; !math.IsNaN(rss) {
		if sum.samples == 0 {
			row.MinRSS, row.MaxRSS = rss, rss
		}
		row.MinRSS, row.MaxRSS = min(row.MinRSS, rss), max(row.MaxRSS, rss)
		sum.rss += rss
		sum.samples++
		row.MeanRSS = sum.rss / sum.samples
	}
	if k.io[i] == nil {
		k.io[i] = map[string][2]float64{}
	}
	used := k.io[i][interval.Later.Name]
	used[0] += interval.Increase(func(r *record.MachineRow) float64 { return r.ReadBytes })
	used[1] += interval.Increase(func(r *record.MachineRow) float64 { return r.WriteBytes })
	k.io[i][interval.Later.Name] = used
}

// addToSet adds a name to a set and returns the set. The given set may be nil.
func addToSet(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}
