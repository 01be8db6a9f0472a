package history_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	ops "github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func header() *ops.Header {
	return &ops.Header{Store: "etcd", Started: time.Unix(1700000000, 5).UTC(), BaseRevision: 12, Guarantees: map[ops.Guarantee]string{ops.RevisionOrder: "said there"}}
}

// sampleOps returns operations like those of a load with 50,000 operations per second on 100,000
// keys.
func sampleOps(seed uint64, n int) []ops.Op {
	r := rand.New(rand.NewPCG(seed, 1))
	all := make([]ops.Op, n)
	for i := range all {
		at := int64(1_000_000 + i/2)
		o := ops.Op{
			Session: uint32(r.IntN(1000)), Member: uint64(r.IntN(3)+1) * 0x9e3779b97f4a7c15, Key: uint64(r.IntN(100_000)),
			Done: int64(i)*20_000 + r.Int64N(15_000), Revision: at,
		}
		o.Invoked = max(o.Done-500_000-r.Int64N(20_000_000), 0)
		if i%2 == 0 {
			o.Kind, o.Written = kv.Put, uint64(i+r.IntN(50)+1)
		} else {
			o.Kind, o.Consistency, o.Read, o.ModRevision = kv.Get, kv.Linearizable, uint64(r.IntN(i)+1), at-r.Int64N(100_000)
		}
		all[i] = o
	}
	return all
}

func write(t testing.TB, path string, h *ops.Header, all []ops.Op) int64 {
	t.Helper()
	w, err := ops.Create(path, h)
	if err != nil {
		t.Fatal(err)
	}
	r := w.Recorder()
	for i := range all {
		r.Add(&all[i])
	}
	r.Flush()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

func read(t testing.TB, paths ...string) ([]ops.Op, *ops.Set) {
	t.Helper()
	s, err := ops.Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	var got []ops.Op
	for range 2 { // each call of Read starts at the beginning
		got = nil
		if err := s.Read(func(some []ops.Op) error { got = append(got, some...); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return got, s
}

func TestFilesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	want := sampleOps(1, 20_000)
	bytes := write(t, path, header(), want)
	got, s := read(t, path)
	if d := cmp.Diff(want, got); d != "" || len(s.Problems) > 0 {
		t.Error(s.Problems, d)
	}
	if d := cmp.Diff(header(), s.Header()); d != "" {
		t.Error(d)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != bytes || bytes > 24*20_000 {
		t.Errorf("error %v, reported size %d bytes; want the size of the file, and at most 24 bytes per operation", err, bytes)
	}
	if _, err := ops.Create(path, header()); err == nil {
		t.Error("a history was overwritten")
	}
}

// Read keeps the records of a transaction together, and extends each operation by the clock error
// of its file.
func TestFilesAreReadInOrder(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, header(), []ops.Op{
		{Session: 1, Invoked: 1, Done: 100}, {Session: 1, Done: 100, ContinuesPrevious: true, Kind: kv.Txn}, {Session: 1, Invoked: 150, Done: 200},
	})
	off := header()
	off.ClockError = 20
	write(t, b, off, []ops.Op{{Session: 2, Invoked: 10, Done: 80}, {Session: 2, Invoked: 90, Done: 100}})
	got, _ := read(t, a, b)
	var line []any
	for _, o := range got {
		line = append(line, o.Session, o.Invoked, o.Done)
	}
	want := []any{uint32(1), int64(1), int64(100), uint32(1), int64(0), int64(100), uint32(2), int64(0), int64(100), uint32(2), int64(70), int64(120), uint32(1), int64(150), int64(200)}
	if d := cmp.Diff(want, line); d != "" {
		t.Error(d)
	}
	stop := errors.New("enough")
	s, _ := ops.Open(a, b)
	if err := s.Read(func([]ops.Op) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	other := header()
	other.Store = "consul"
	c := filepath.Join(dir, "c")
	write(t, c, other, nil)
	if _, err := ops.Open(a, c); err == nil {
		t.Error("files of two stores were opened together")
	}
}

// If the clocks of files started at different times, Read converts all times to one clock. If a
// file is incomplete, CompleteUntil returns the time after which operations may be missing.
func TestFilesArePutOnOneClock(t *testing.T) {
	dir := t.TempDir()
	late, early := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	h := header()
	h.Started = h.Started.Add(time.Second)
	write(t, late, h, []ops.Op{{Session: 1, Invoked: 0, Done: 5}})
	left := header()
	left.Timeout = 100
	w, err := ops.Create(early, left)
	if err != nil {
		t.Fatal(err)
	}
	r := w.Recorder()
	r.Add(&ops.Op{Session: 2, Invoked: 900, Done: 1000})
	r.Flush()
	if err := w.CloseIncomplete(); err != nil {
		t.Fatal(err)
	}
	got, s := read(t, late, early)
	want := []ops.Op{{Session: 2, Invoked: 900, Done: 1000}, {Session: 1, Invoked: 1e9, Done: 1e9 + 5}}
	if d := cmp.Diff(want, got); d != "" || len(s.Problems) != 1 || s.CompleteUntil() != 900 {
		t.Error(s.Problems, s.CompleteUntil(), d)
	}
	if _, s := read(t, late); s.CompleteUntil() != math.MaxInt64 {
		t.Error(s.CompleteUntil())
	}
}

// If a run is killed, the part of the file that was written can be read. Damage at any position is
// detected, and the operations before the damage are read.
func TestEveryPrefixIsRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	want := sampleOps(2, 9000)
	write(t, path, header(), want)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 3))
	broken := filepath.Join(dir, "b")
	for i := range settle.RandomCases(60, 8) {
		b := bytes.Clone(whole)
		at := r.IntN(len(b))
		if i%2 == 0 {
			b = b[:at]
		} else {
			b[at] ^= 1 << r.IntN(8)
		}
		if err := os.WriteFile(broken, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ops.Open(broken)
		if err != nil {
			if at > 400 {
				t.Errorf("at %d: %v", at, err)
			}
			continue
		}
		n := 0
		err = s.Read(func(some []ops.Op) error {
			if d := cmp.Diff(want[n:n+len(some)], some); d != "" {
				t.Fatal(d)
			}
			n += len(some)
			return nil
		})
		if err != nil || len(s.Problems) != 1 || n > at {
			t.Errorf("file damaged at byte %d: %d operations were read, with the error %v and the problems %v", at, n, err, s.Problems)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, b := range map[string]string{"empty": "", "other": "#!/bin/sh\necho", "short": "qbhist1\n\x00"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ops.Open(path); err == nil || !strings.Contains(err.Error(), "not a history file of quorumbench") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ops.Open(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing file was opened")
	}
}

func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "a")
	write(f, path, header(), sampleOps(4, 50))
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-20])
	f.Add([]byte("qbhist1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ops.Open(path)
		if err != nil {
			return
		}
		last := int64(0)
		err = s.Read(func(some []ops.Op) error {
			for i := range some {
				if some[i].Done < last {
					t.Fatal("operations are not in the order of their ends")
				}
				last = some[i].Done
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkWrite measures how long it takes to record and write one operation, including the disk.
func BenchmarkWrite(b *testing.B) {
	all := sampleOps(1, 1_000_000)
	var size int64
	path := filepath.Join(b.TempDir(), "a")
	n := 0
	for b.Loop() {
		_ = os.Remove(path)
		size = write(b, path, header(), all)
		n += len(all)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/operation")
	b.ReportMetric(float64(size)/float64(len(all)), "B/operation")
}

func BenchmarkRead(b *testing.B) {
	all := sampleOps(1, 1_000_000)
	path := filepath.Join(b.TempDir(), "a")
	write(b, path, header(), all)
	s, err := ops.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		_ = s.Read(func(some []ops.Op) error { n += len(some); return nil })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/operation")
}
