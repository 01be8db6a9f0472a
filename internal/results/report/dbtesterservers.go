package report

import (
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// serverFiles returns the rows of the files about processes and machines, by file name. It returns
// no files if nothing was sampled.
func serverFiles(d *analyze.Dbtester) map[string][][]string {
	files := map[string][][]string{}
	for i := range d.ServerUse.Processes {
		s := &d.ServerUse.Processes[i]
		name := "server-" + record.Slug(s.Name) + "-system-metrics.csv"
		if s.Generator {
			name = "client-system-metrics.csv"
			if host, other := strings.CutPrefix(s.Name, record.OtherGenerator("")); other {
				name = "client-" + record.Slug(host) + "-system-metrics.csv"
			}
		}
		files[name] = systemRows(s)
	}
	if len(d.ServerUse.ByKey) == 0 || len(files) == 0 {
		return files
	}
	memory := [][]string{{keysHead(d.Keys), "MIN-VMRSS-MB", "AVG-VMRSS-MB", "MAX-VMRSS-MB"}}
	read := [][]string{{keysHead(d.Keys), "AVG-READ-BYTES-NUM-DELTA"}}
	written := [][]string{{keysHead(d.Keys), "AVG-WRITE-BYTES-NUM-DELTA"}}
	for _, k := range d.ServerUse.ByKey {
		keys := strconv.FormatUint(k.Keys, 10)
		memory = append(memory, []string{keys, text.CSVNumber(k.MinRSS, 2), text.CSVNumber(k.MeanRSS, 2), text.CSVNumber(k.MaxRSS, 2)})
		read = append(read, []string{keys, text.CSVNumber(k.ReadBytes, 0)})
		written = append(written, []string{keys, text.CSVNumber(k.WriteBytes, 0)})
	}
	files["server-memory-by-key-number.csv"] = memory
	files["server-read-bytes-delta-by-key-number.csv"] = read
	files["server-write-bytes-delta-by-key-number.csv"] = written
	return files
}

// systemColumns lists the columns with the figures of a process in each second, followed by the
// columns with the figures of its machine.
var systemColumns = []struct {
	name     string
	decimals int
	value    func(*analyze.ServerSecond) float64
}{
	{"PID", 0, func(s *analyze.ServerSecond) float64 { return s.Process.PID }},
	{"CPU-NUM", 2, func(s *analyze.ServerSecond) float64 { return s.Percent }},
	{"VMRSS-NUM", 0, func(s *analyze.ServerSecond) float64 { return s.Process.RSS }},
	{"FD", 0, func(s *analyze.ServerSecond) float64 { return s.Process.FDs }},
	{"THREADS", 0, func(s *analyze.ServerSecond) float64 { return s.Process.Threads }},
	{"VOLUNTARY-CTXT-SWITCHES", 0, func(s *analyze.ServerSecond) float64 { return s.Process.VoluntarySwitches }},
	{"NON-VOLUNTARY-CTXT-SWITCHES", 0, func(s *analyze.ServerSecond) float64 { return s.Process.InvoluntarySwitches }},
	{"READ-BYTES", 0, func(s *analyze.ServerSecond) float64 { return s.Process.ReadBytes }},
	{"READ-BYTES-DELTA", 0, func(s *analyze.ServerSecond) float64 { return s.ReadBytes }},
	{"WRITE-BYTES", 0, func(s *analyze.ServerSecond) float64 { return s.Process.WriteBytes }},
	{"WRITE-BYTES-DELTA", 0, func(s *analyze.ServerSecond) float64 { return s.WriteBytes }},
	{"DISK-SPACE-USAGE", 0, func(s *analyze.ServerSecond) float64 { return s.Process.FolderBytes }},
	{"LOAD-AVERAGE-1-MINUTE", 2, func(s *analyze.ServerSecond) float64 { return s.Machine.Load1 }},
	{"READS-COMPLETED", 0, func(s *analyze.ServerSecond) float64 { return s.Machine.DiskReads }},
	{"READS-COMPLETED-DELTA", 0, func(s *analyze.ServerSecond) float64 { return s.Reads }},
	{"SECTORS-READ", 0, func(s *analyze.ServerSecond) float64 { return s.Machine.ReadSectors }},
	{"SECTORS-READ-DELTA", 0, func(s *analyze.ServerSecond) float64 { return s.ReadSectors }},
	{"WRITES-COMPLETED", 0, func(s *analyze.ServerSecond) float64 { return s.Machine.DiskWrites }},
	{"WRITES-COMPLETED-DELTA", 0, func(s *analyze.ServerSecond) float64 { return s.Writes }},
	{"SECTORS-WRITTEN", 0, func(s *analyze.ServerSecond) float64 { return s.Machine.WrittenSectors }},
	{"SECTORS-WRITTEN-DELTA", 0, func(s *analyze.ServerSecond) float64 { return s.WrittenSectors }},
	{"RECEIVE-PACKETS", 0, func(s *analyze.ServerSecond) float64 { return s.Machine.ReceivedPackets }},
	{"RECEIVE-PACKETS-DELTA", 0, func(s *analyze.ServerSecond) float64 { return s.ReceivedPackets }},
	{"TRANSMIT-PACKETS", 0, func(s *analyze.ServerSecond) float64 { return s.Machine.SentPackets }},
	{"TRANSMIT-PACKETS-DELTA", 0, func(s *analyze.ServerSecond) float64 { return s.SentPackets }},
	{"RECEIVE-BYTES-NUM", 0, func(s *analyze.ServerSecond) float64 { return s.Machine.Received }},
	{"RECEIVE-BYTES-NUM-DELTA", 0, func(s *analyze.ServerSecond) float64 { return s.Received }},
	{"TRANSMIT-BYTES-NUM", 0, func(s *analyze.ServerSecond) float64 { return s.Machine.Sent }},
	{"TRANSMIT-BYTES-NUM-DELTA", 0, func(s *analyze.ServerSecond) float64 { return s.Sent }},
}

func systemRows(s *analyze.ServerSeconds) [][]string {
	head := []string{"UNIX-SECOND"}
	for _, c := range systemColumns {
		head = append(head, c.name)
	}
	rows := [][]string{head}
	for i := range s.Rows {
		row := []string{strconv.FormatInt(s.Rows[i].Process.Time.Unix(), 10)}
		for _, c := range systemColumns {
			row = append(row, text.CSVNumber(c.value(&s.Rows[i]), c.decimals))
		}
		rows = append(rows, row)
	}
	return rows
}
