package record

import (
	"bytes"
	"strings"
)

// The names of machines.csv that are no member's.
const (
	GeneratorName = "generator" // our own process
	MachineName   = "machine"   // the whole machine of the generator
)

// OtherMachine is the name of a whole machine that is not the generator's.
func OtherMachine(host string) string { return MachineName + " " + host }

// Member reports whether the row is of a member's process.
func (r *MachineRow) Member() bool {
	return r.Name != GeneratorName && r.Name != MachineName && !strings.HasPrefix(r.Name, OtherMachine(""))
}

// MachineRow is what a process had used at a time, or the machine: counters
// since its start. What the file does not have is 0.
type MachineRow struct {
	Unix       int64
	Name       string
	CPUSeconds float64 // user and system
	RSSBytes   int64
}

// OpenMachines reads a trial's machines.csv; there are no rows where nothing was
// watched.
func OpenMachines(dir, folder string) ([]MachineRow, error) {
	return readTrialFile(dir, folder, machinesFile, readMachines)
}

// readMachines reads the file's text.
func readMachines(b []byte) (rows []MachineRow, err error) {
	columns := []string{"unix_seconds", "name", "cpu_user_seconds", "cpu_system_seconds", "rss_bytes"}
	err = eachCSVRow(bytes.NewReader(b), "file", columns, func(r *csvRow) {
		rows = append(rows, MachineRow{
			Unix: int64(r.number("unix_seconds")), Name: r.text("name"),
			CPUSeconds: r.number("cpu_user_seconds") + r.number("cpu_system_seconds"), RSSBytes: int64(r.number("rss_bytes")),
		})
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}
