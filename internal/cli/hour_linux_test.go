package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

// BenchmarkReportOfAnHour measures two commands on a run that lasted an hour and has 100 million
// operations: `report`, and `compare` with a run that is 2 % slower. Each command runs in a
// separate process, and the benchmark reports the maximum resident memory of this process.
// Recording the two runs takes two minutes.
func BenchmarkReportOfAnHour(b *testing.B) {
	base, slower := runs.Hour, runs.Hour
	slower.Name, slower.Seed, slower.Slower = "slower", 2, 0.02
	dir := base.Record(b, b.TempDir())
	other := slower.Record(b, b.TempDir())
	out := filepath.Join(b.TempDir(), "out")
	for _, c := range []struct {
		name string
		args []string
	}{
		{"text", []string{"report", dir}},
		{"html", []string{"report", dir, "--format", "html", "--out", out}},
		{"html-of-two", []string{"report", dir, other, "--format", "html", "--out", out}},
		{"dbtester", []string{"report", dir, "--format", "dbtester", "--out", out}},
		{"compare", []string{"compare", dir, other}},
	} {
		timed(b, c.name, out, c.args)
	}
}

// BenchmarkReportOfTenThousandTrials measures `report` on a run with ten thousand trials. Recording
// the run takes five minutes of CPU time.
func BenchmarkReportOfTenThousandTrials(b *testing.B) {
	dir := runs.TenThousand.Record(b, b.TempDir())
	if info, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
		b.Logf("run.json has %d MiB", info.Size()>>20)
	}
	out := filepath.Join(b.TempDir(), "out")
	for _, format := range []string{"text", "csv", "json", "markdown", "html"} {
		timed(b, format, out, []string{"report", dir, "--format", format, "--out", out})
	}
}

// timed runs a command repeatedly. The command may write into the folder `out`. timed removes this
// folder before each run of the command.
func timed(b *testing.B, name, out string, args []string) {
	b.Run(name, func(b *testing.B) {
		resident := int64(0)
		for b.Loop() {
			if err := os.RemoveAll(out); err != nil {
				b.Fatal(err)
			}
			run := exec.Command("quorumbench", args...)
			if said, err := run.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, said)
			}
			if usage, ok := run.ProcessState.SysUsage().(*syscall.Rusage); ok {
				resident = max(resident, usage.Maxrss)
			}
		}
		b.ReportMetric(float64(resident)/1024, "MiB-resident")
		if info, err := os.Stat(filepath.Join(out, "report.html")); err == nil {
			b.ReportMetric(float64(info.Size())/(1<<20), "MiB-page")
		}
	})
}
