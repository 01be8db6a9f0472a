package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

func checkKeys(t *testing.T, table KeyTable, count, errors uint64, whole *measure.Histogram) {
	t.Helper()
	var sum, failed, last uint64
	mean, least, most := 0.0, math.Inf(1), 0.0
	for i, r := range table.Rows {
		sum, failed = sum+r.Count, failed+r.Errors
		if r.Keys != sum || r.Keys < last {
			t.Errorf("row %d ends at key %d, want %d", i, r.Keys, sum)
		}
		if r.Count < table.Bucket && i < len(table.Rows)-1 {
			t.Errorf("row %d has %d keys, want a full bucket of %d", i, r.Count, table.Bucket)
		}
		if r.Count > 0 {
			mean, least, most = mean+r.Mean*float64(r.Count), min(least, r.Min), max(most, r.Max)
		}
		last = r.Keys
	}
	if sum != count || failed != errors || len(table.Rows) > MaxRows {
		t.Errorf("the rows hold %d of %d keys and %d of %d errors in %d rows", sum, count, failed, errors, len(table.Rows))
	}
	if count > 0 && (math.Abs(mean/float64(count)/whole.Mean()-1) > 1e-3 || least != float64(whole.Min()) || most != float64(whole.Max())) {
		t.Errorf("the rows have mean %v, min %v and max %v, want %v, %v and %v", mean/float64(count), least, most, whole.Mean(), whole.Min(), whole.Max())
	}
}

// The number of keys per row increases, so that the number of rows stays limited.
func TestKeyBucketGrows(t *testing.T) {
	k := &Keys{}
	for i := range 25_000 {
		k.seconds = append(k.seconds, KeyRow{Count: 1500, Errors: uint64(i % 2), Min: 1, Mean: 2, Max: 3})
	}
	table := k.Table()
	if table.Bucket != 5000 || len(table.Rows) > MaxRows {
		t.Errorf("the bucket is %d keys and the table has %d rows, want 5000 keys", table.Bucket, len(table.Rows))
	}
	var sum, errors uint64
	for _, r := range table.Rows {
		sum, errors = sum+r.Count, errors+r.Errors
		if math.Abs(r.Mean-2) > 1e-12 || r.Min != 1 || r.Max != 3 {
			t.Fatalf("the row is %+v, want min 1, mean 2 and max 3", r)
		}
	}
	if sum != 25_000*1500 || errors != 12_500 {
		t.Errorf("the rows have %d keys and %d errors", sum, errors)
	}
	if len((&Keys{}).Table().Rows) != 0 {
		t.Error("the table without keys has rows")
	}
}

// The sum of the bins equals the number of operations. The bins are contiguous and start at 0. They
// agree with counts of the exact values, with a precision of three digits.
func TestBins(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		h := measure.NewHistogram()
		scale := math.Pow(10, 4+6*rng.Float64())
		n := 1 + rng.IntN(5000)
		var values []int64
		for range n {
			ns := int64(rng.ExpFloat64() * scale)
			measure.Record(h, ns)
			values = append(values, ns)
		}
		bins := Bins(h)
		width := bins[0].To
		slices.Sort(values)
		below := func(ns float64) uint64 {
			at, _ := slices.BinarySearch(values, int64(ns))
			return uint64(at)
		}
		var sum uint64
		for i, b := range bins {
			if b.From != time.Duration(i)*width || b.To != b.From+width {
				t.Fatalf("bin %d is from %v to %v, want a width of %v", i, b.From, b.To, width)
			}
			sum += b.Count
			if edge := float64(b.To); sum < below(edge*0.999) || sum > below(edge*1.001) {
				t.Errorf("%d operations are below %v, want %d to %d", sum, b.To, below(edge*0.999), below(edge*1.001))
			}
		}
		if sum != uint64(n) || len(bins) > MaxRows {
			t.Errorf("%d of %d operations in %d bins", sum, n, len(bins))
		}
	}
	if Bins(measure.NewHistogram()) != nil || Bins(nil) != nil {
		t.Error("Bins returns bins for a histogram without operations")
	}
	h := measure.NewHistogram()
	measure.Record(h, 9_990_000)
	measure.Record(h, 10_010_000)
	if b := Bins(h); len(b) != 2 || b[0].Count != 1 || b[1].Count != 1 {
		t.Errorf("9.99 and 10.01 ms: %v", b)
	}
	measure.Record(h, measure.Highest)
	if b := Bins(h); b[0].To != 500*time.Millisecond || b[0].Count != 2 {
		t.Errorf("with the longest possible operation, the first bin ends at %v, want 500ms", b[0].To)
	}
}

// The values of all members are added for each second. Rows of other processes and rows at other
// times are ignored.
func TestServersAreSummedOverMembers(t *testing.T) {
	row := func(unix int64, name string, cpu float64, rss int64) record.MachineRow {
		return record.MachineRow{Time: time.Unix(unix, 0), Name: name, User: cpu, RSS: float64(rss)}
	}
	rows := []record.MachineRow{
		row(9, "m1", 0, 999), row(9, "machine", 100, 0),
		row(10, "generator", 1, 9999), row(10, "m1", 5, 100), row(10, "m2", 7, 50), row(10, "machine", 200, 0),
		row(11, "generator", 2, 9999), row(11, "m1", 5.5, 120), row(11, "m2", 7.25, 60),
		row(13, "m1", 6, 90), row(13, "m2", 7.5, 80), // two seconds later
		row(14, "m1", 0.5, 10), row(14, "m2", 7.75, 20), // m1 was restarted
		row(16, "m1", 99, 999),
	}
	in := samples.Span{From: time.Unix(10, 0), To: time.Unix(15, 0)}
	s := servers(rows, in)
	if !s.CPU.Known || s.CPU.Number != 0.75 || !s.RSS.Known || s.RSS.Number != 180 {
		t.Errorf("%+v", s)
	}
	if s := servers(rows[:3], in); s.CPU.Known || s.RSS.Known {
		t.Errorf("CPU or memory use is known without two rows of a member: %+v", s)
	}
}

// The machines.csv of a recorded run is read correctly. The generator is not a member.
func TestServersOfARecordedRun(t *testing.T) {
	run := openRepeats(t)
	rows, err := record.OpenMachines(run.Dir, run.Trials[0].Folder)
	must(t, err)
	if len(rows) < 3 || rows[0].Name != record.GeneratorName || rows[0].User != 0.08 || rows[0].System != 0.07 || rows[0].RSS != 41693184 || rows[1].Name != "m1" || rows[2].Name != record.MachineName {
		t.Errorf("%+v", rows)
	}
	if _, err := ServersOf(&run.Trials[0], nil); err != nil {
		t.Error(err)
	}
	if _, err := record.OpenMachines(run.Dir, "../repeats"); err == nil {
		t.Error("OpenMachines reads a folder outside of the run")
	}
}
