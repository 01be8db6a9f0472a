package analyze

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// The members' seconds are summed, and those of others and of other times left
// out.
func TestServersAreSummedOverMembers(t *testing.T) {
	row := func(unix int64, name string, cpu float64, rss int64) record.MachineRow {
		return record.MachineRow{Unix: unix, Name: name, CPUSeconds: cpu, RSSBytes: rss}
	}
	rows := []record.MachineRow{
		row(9, "m1", 0, 999), row(9, "machine", 100, 0),
		row(10, "generator", 1, 9999), row(10, "m1", 5, 100), row(10, "m2", 7, 50), row(10, "machine", 200, 0),
		row(11, "generator", 2, 9999), row(11, "m1", 5.5, 120), row(11, "m2", 7.25, 60),
		row(13, "m1", 6, 90), row(13, "m2", 7.5, 80), // two seconds later
		row(14, "m1", 0.5, 10), row(14, "m2", 7.75, 20), // m1 was started again
		row(16, "m1", 99, 999),
	}
	s := servers(rows, 10, 15)
	if !s.CPU.Known || s.CPU.Number != 0.75 || !s.RSS.Known || s.RSS.Number != 180 {
		t.Errorf("%+v", s)
	}
	if s := servers(rows[:3], 10, 15); s.CPU.Known || s.RSS.Known {
		t.Errorf("without two rows of a member: %+v", s)
	}
}

// The file of a run is read as it was written; the generator is no member.
func TestServersOfARecordedRun(t *testing.T) {
	run := openOlder(t)
	rows, err := record.OpenMachines("testdata/older", run.Trials[0].Folder)
	must(t, err)
	if len(rows) < 2 || rows[0].Name != record.GeneratorName || rows[0].CPUSeconds != 0.03 || rows[0].RSSBytes != 32407552 || rows[1].Name != record.MachineName {
		t.Errorf("%+v", rows)
	}
	if _, err := ServersOf("testdata/older", &run.Trials[0]); err != nil {
		t.Error(err)
	}
	if _, err := record.OpenMachines("testdata/older", "../older"); err == nil {
		t.Error("a folder outside was read")
	}
}
