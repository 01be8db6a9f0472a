package record

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Writing and reading does not change the rows, except that it omits values that no member can have
// reported.
func TestStoreRowsAreReadAgain(t *testing.T) {
	timed := store.Reading{Count: 5, Sum: 0.25, Buckets: []store.Bucket{{Upper: 0.001, Count: 2}, {Upper: 8.192, Count: 4}, {Upper: math.Inf(1), Count: 5}}}
	rows := []StoreRow{
		{Time: noon.Truncate(time.Millisecond), Name: "m1", Endpoint: "10.0.0.1:2379", ConnectTime: 210 * time.Microsecond, ResponseTime: 3 * time.Millisecond, Metrics: store.Sample{
			store.FsyncSeconds: timed, store.PeerRoundTripSeconds: {Count: 3, Sum: 0.5}, store.CPUSeconds: {Value: 1.5}, store.ResidentBytes: {Value: 1 << 30},
		}},
		{Time: noon.Add(time.Second).Truncate(time.Millisecond), Name: "m2", Endpoint: "10.0.0.2:2379", ConnectFailure: "refused", ResponseTime: 3 * time.Second, Failure: "no answer, in the time given"},
		{Time: noon.Add(2 * time.Second).Truncate(time.Millisecond), Name: "m3", Endpoint: "10.0.0.3:2379", Metrics: store.Sample{store.LeaderChanges: {}}},
	}
	w, err := CreateAt(filepath.Join(t.TempDir(), "run"), noon, Run{Name: "stores"})
	if err != nil {
		t.Fatal(err)
	}
	trial, err := w.Trial(Conditions{Name: "put", Number: 1, Repeats: 1}, noon)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := trial.Store(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	impossible := StoreRow{Time: noon, Name: "=1+1", Metrics: store.Sample{
		store.CPUSeconds: {Value: math.NaN()}, store.ResidentBytes: {Value: -1}, store.FsyncSeconds: {Count: 1, Buckets: []store.Bucket{{Upper: math.NaN()}}},
	}}
	if err := trial.Store(&impossible); err != nil {
		t.Fatal(err)
	}
	// Simulate a crash that left an incomplete line.
	path := filepath.Join(trial.Dir(), storesFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, "1763818441.1,m1,h"...), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	run.ReadTrialFiles(w.Dir(), noRecovery)
	rows = append(rows, StoreRow{Time: noon.Truncate(time.Millisecond), Name: "'=1+1", Metrics: store.Sample{store.FsyncSeconds: {Count: 1}}})
	for i := range rows {
		rows[i].Time = rows[i].Time.UTC()
	}
	if diff := cmp.Diff(rows, run.Trials[0].Stores); diff != "" {
		t.Errorf("the samples that were read differ from those written:\n%s", diff)
	}
}

// If the buckets that a member reported do not form a histogram, they are omitted, and the file can
// still be read.
func TestInvalidBucketsAreOmitted(t *testing.T) {
	for _, all := range [][]store.Bucket{
		{{Upper: 1, Count: 5}, {Upper: 2, Count: 4}},
		{{Upper: 2, Count: 5}, {Upper: 1, Count: 6}},
		{{Upper: 1, Count: 5}, {Upper: 1, Count: 5}},
	} {
		if text := bucketsText(all); text != "" {
			t.Errorf("the impossible buckets %v are written as %q", all, text)
		}
	}
}

// A name in machines.csv, which may come from an untrusted source, is made printable.
func TestMachineNamesCanBePrinted(t *testing.T) {
	head := "unix_seconds,name,cpu_user_seconds,cpu_system_seconds,rss_bytes\n"
	rows, err := readMachines([]byte(head + "1,\"m1\nVerdict: valid\",1,1,1\n"))
	if err != nil || len(rows) != 1 || strings.Contains(rows[0].Name, "\n") {
		t.Errorf("%+v, %v", rows, err)
	}
}
