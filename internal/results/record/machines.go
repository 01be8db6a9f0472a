package record

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strconv"
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
	path := filepath.Join(dir, folder, machinesFile)
	if !filepath.IsLocal(folder) {
		return nil, fmt.Errorf("%q is no folder in the run directory", folder)
	}
	b, err := wholeLines(dir, filepath.Join(folder, machinesFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	rows, err := readMachines(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

// readMachines reads the file's text.
func readMachines(b []byte) ([]MachineRow, error) {
	table, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(table) == 0 {
		return nil, err
	}
	column := map[string]int{}
	for i, name := range table[0] {
		column[name] = i
	}
	for _, name := range []string{"unix_seconds", "name", "cpu_user_seconds", "cpu_system_seconds", "rss_bytes"} {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("there is no column %q", name)
		}
	}
	rows := make([]MachineRow, 0, len(table)-1)
	for i, fields := range table[1:] {
		number := func(name string) float64 {
			text := fields[column[name]]
			if text == "" {
				return 0
			}
			x, parsing := strconv.ParseFloat(text, 64)
			if (parsing != nil || !(x >= 0 && x < mostMachine)) && err == nil {
				err = fmt.Errorf("in row %d, %s is %q, and no number from 0 to %g", i+1, name, text, float64(mostMachine))
			}
			return x
		}
		rows = append(rows, MachineRow{
			Unix: int64(number("unix_seconds")), Name: fields[column["name"]],
			CPUSeconds: number("cpu_user_seconds") + number("cpu_system_seconds"), RSSBytes: int64(number("rss_bytes")),
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// mostMachine is above all that a machine counts, and below what an int64 holds.
const mostMachine = 1 << 62
