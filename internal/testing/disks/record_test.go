package disks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// recordEnv is the environment variable that makes TestRecord record a disk. Its value is a folder
// on the disk. The variable recordAsEnv contains the disk's description. The variable
// recordNeighborEnv contains the size in MiB of the file that a simulated neighbor writes.
const (
	recordEnv         = "QUORUMBENCH_RECORD_DISK"
	recordAsEnv       = "QUORUMBENCH_RECORD_AS"
	recordNeighborEnv = "QUORUMBENCH_RECORD_NEIGHBOR"
)

// TestRecord records the syncs of a disk in testdata.
func TestRecord(t *testing.T) {
	dir := os.Getenv(recordEnv)
	if dir == "" {
		t.Skipf("this test only records a disk, in the folder that %s names", recordEnv)
	}
	w := probe.PacedWrites{Sizes: []int{2300}, Interval: 20 * time.Millisecond, Duration: 40 * time.Second}
	if _, err := fmt.Sscan(os.Getenv(recordNeighborEnv), &w.Neighbor); err == nil {
		w.Neighbor <<= 20
	}
	r := Recording{Disk: os.Getenv(recordAsEnv)}
	err := host.NewLocal(nil, nil).WriteLog(t.Context(), dir, w, func(s measure.WrittenSecond) bool {
		for _, ns := range s.SyncNS {
			r.SyncUS = append(r.SyncUS, ns/1000)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(&r)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("testdata/*.json")
	if err := os.WriteFile(fmt.Sprintf("testdata/recorded-%d.json", len(files)+1), append(b, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
