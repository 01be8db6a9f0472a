package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// TestDbtesterServers checks the files of a run whose second trial has no samples of its members'
// processes.
func TestDbtesterServers(t *testing.T) {
	settle.SkipUnderRace(t)
	run := twoStores(t)
	run.Trials[0].SharesMachine = new(true)
	var csv strings.Builder
	csv.WriteString("unix_seconds,name,pid,cpu_user_seconds,cpu_system_seconds,rss_bytes,threads,write_bytes,read_bytes,disk_writes,disk_written_sectors,received_bytes,sent_bytes,folder_bytes,machine\n")
	for second := range 4 {
		at := noon.Unix() + int64(second)
		for m := 1; m <= 2; m++ {
			fmt.Fprintf(&csv, "%d,m%d,%d,%d,0,%d,9,%d,0,,,%d,%d,5000,machine\n", at, m, 40+m, second, m*2_000_000, 1000*m*second, 100*second, 30*second)
		}
		fmt.Fprintf(&csv, "%d,generator,7,%g,0,1000000,3,0,0,,,,,,machine\n", at, 0.5*float64(second))
		fmt.Fprintf(&csv, "%d,machine,,%d,0,,,,,%d,%d,9,9,,machine\n", at, 3*second, 50*second, 400*second)
	}
	folder := filepath.Join(run.Trials[0].Dir, run.Trials[0].Folder)
	if err := os.WriteFile(filepath.Join(folder, "machines.csv"), []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, read := writeDbtester(t, run)
	for _, line := range []string{
		"SERVER-TOTAL-NETWORK-RX-DATA-SUM,600,\n", "SERVER-TOTAL-NETWORK-TX-DATA-SUM,180,\n", "SERVER-MAX-CPU-USAGE,200.0 %,\n", "SERVER-MAX-MEMORY-USAGE,6000000,\n",
		"SERVER-AVG-WRITES-COMPLETED-DELTA-SUM,150,\n", "SERVER-AVG-SECTORS-WRITTEN-DELTA-SUM,1200,\n", "SERVER-AVG-READS-COMPLETED-DELTA-SUM,,\n", "SERVER-AVG-DISK-SPACE-USAGE,5000,\n",
	} {
		if !strings.Contains(read("summary.csv"), line) {
			t.Errorf("the summary has no %q:\n%s", line, read("summary.csv"))
		}
	}
	etcd := run.Trials[0].Folder
	for file, want := range map[string]string{
		"server-memory-by-key-number.csv":            "KEYS,MIN-VMRSS-MB,AVG-VMRSS-MB,MAX-VMRSS-MB\n1000,2.00,3.00,4.00\n",
		"server-read-bytes-delta-by-key-number.csv":  "KEYS,AVG-READ-BYTES-NUM-DELTA\n1000,0\n",
		"server-write-bytes-delta-by-key-number.csv": "KEYS,AVG-WRITE-BYTES-NUM-DELTA\n1000,1500\n",
		"server-m2-system-metrics.csv":               "UNIX-SECOND,PID,CPU-NUM,VMRSS-NUM,FD,THREADS,",
		"client-system-metrics.csv":                  "UNIX-SECOND,PID,CPU-NUM,VMRSS-NUM,FD,THREADS,",
	} {
		if got := read(etcd, file); !strings.HasPrefix(got, want) {
			t.Errorf("%s is\n%s", file, got)
		}
	}
	if got, want := read(etcd, "server-m2-system-metrics.csv"), fmt.Sprintf("\n%d,42,100.00,4000000,,9,,,0,0,2000,2000,5000,,,,,,50,50,400,400,,,,,9,0,9,0\n", noon.Unix()+1); !strings.Contains(got, want) {
		t.Errorf("the seconds of m2 are\n%s", got)
	}
	if files, err := filepath.Glob(filepath.Join(out, run.Trials[1].Folder, "server-*")); err != nil || len(files) > 0 {
		t.Errorf("a trial that was not watched has the server files %v, %v", files, err)
	}
}
