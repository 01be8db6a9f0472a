package verify_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/verify"
)

// BenchmarkFile measures the check of a history file with 100,000 keys and a million operations.
// The environment variable QUORUMBENCH_HISTORY_OPERATIONS sets a different number of operations.
func BenchmarkFile(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("QUORUMBENCH_HISTORY_OPERATIONS"))
	if err != nil {
		n = 1_000_000
	}
	path := filepath.Join(b.TempDir(), "history")
	b.ReportMetric(float64(writeLarge(b, path, n))/float64(n), "B/operation")
	for b.Loop() {
		in, err := history.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		r, err := verify.Check(in, verify.Options{})
		if err != nil || len(r.WrongByKind) > 0 || r.Operations != uint64(n) || len(in.Problems) > 0 {
			b.Fatalf("%+v, %v, %v", r, err, in.Problems)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/operation")
	b.ReportMetric(peak(), "MB-peak")
}

// writeLarge writes a history in which each operation takes effect when it ends.
func writeLarge(b *testing.B, path string, n int) int64 {
	const keys = 100_000
	guarantees := map[history.Guarantee]string{}
	for _, p := range history.Guarantees {
		guarantees[p] = "documentation"
	}
	w, err := history.Create(path, &history.Header{Store: "simulated", BaseRevision: 1, Guarantees: guarantees})
	if err != nil {
		b.Fatal(err)
	}
	type state struct {
		rev   int64
		value uint64
	}
	now := make([]state, keys)
	rev, r := int64(1), w.Recorder()
	for i := range n {
		x := uint64(i)*0x9e3779b97f4a7c15 ^ uint64(i)>>7
		x ^= x >> 29
		x *= 0xbf58476d1ce4e5b9
		x ^= x >> 32
		o := history.Op{
			Session: uint32(i % 1000), Member: 1 + uint64(i%3)*0x9e3779b97f4a7c15, Key: x % keys,
			Done: int64(i+1000) * 20_000,
		}
		o.Invoked = o.Done - 500_000 - int64(x>>40)
		cur := &now[o.Key]
		if x>>20&1 == 0 {
			rev++
			o.Kind, o.Revision, o.Written = kv.Put, rev, uint64(i+1)
			*cur = state{rev, o.Written}
		} else {
			o.Kind, o.Consistency, o.Revision, o.ModRevision, o.Read = kv.Get, kv.Linearizable, rev, cur.rev, cur.value
		}
		if o.Kind == kv.Get && o.ModRevision == 0 {
			o.Outcome = kv.Miss
		}
		r.Add(&o)
	}
	r.Flush()
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return w.Bytes()
}

// peak returns the peak memory use of the process in megabytes, or 0 if the operating system does
// not report it.
func peak() float64 {
	b, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kb, _ := strconv.ParseFloat(strings.TrimSpace(strings.SplitN(rest, "kB", 2)[0]), 64)
	return kb / 1024
}
