package probe

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// simulated makes writes on a simulated clock and disk. The function `sync` returns the duration of
// the sync with the given number. The function `wake` returns the time by which a sleep is too
// long.
func simulated(w PacedWrites, sync, wake func(n int) time.Duration) (all []measure.WrittenSecond, sizes [][]int) {
	var now time.Duration
	n := 0
	p := Pacer{
		PacedWrites: w,
		Now:         func() time.Duration { return now },
		Sleep: func(d time.Duration) bool {
			if now += d; d > 0 {
				now += wake(n)
			}
			return true
		},
		Write: func(s []int) error {
			sizes = append(sizes, slices.Clone(s))
			now += sync(n)
			n++
			return nil
		},
		Second: func(s measure.WrittenSecond) error { all = append(all, s); return nil },
	}
	if err := p.Run(); err != nil {
		panic(err)
	}
	return all, sizes
}

func never(int) time.Duration { return 0 }

// A stall of the disk delays all writes that become due during the stall. They are then made
// together, with one sync, and the wait of each write counts from the time at which the write was
// due. If the writer wakes up late, this does not count as a delay by the disk.
func TestPacedWrites(t *testing.T) {
	const ms = time.Millisecond
	w := PacedWrites{Sizes: []int{10, 20}, Interval: 100 * ms, Duration: 3 * time.Second}
	all, sizes := simulated(w, func(n int) time.Duration {
		if n == 5 {
			return 450 * ms
		}
		return 2 * ms
	}, never)
	if len(all) != 3 || all[1].First != 10 || all[2].First != 20 {
		t.Fatalf("%d seconds: %+v", len(all), all)
	}
	want := []int64{2, 2, 2, 2, 2, 450, 352, 252, 152, 52}
	for i, ns := range all[0].WaitNS {
		if ns != want[i]*int64(ms) {
			t.Errorf("write %d waited %d ns, want %d ms", i, ns, want[i])
		}
	}
	if !slices.Equal(sizes[6], []int{10, 20, 10, 20}) || len(all[0].SyncNS) != 7 || !slices.Equal(sizes[7], []int{10}) {
		t.Errorf("the sizes of the writes after the stall are %v and %v, with %d syncs in the first second", sizes[6], sizes[7], len(all[0].SyncNS))
	}
	all, _ = simulated(w, func(int) time.Duration { return 2 * ms }, func(n int) time.Duration {
		if n == 3 {
			return 250 * ms
		}
		return 0
	})
	if longest := slices.Max(all[0].WaitNS); longest != int64(2*ms) || all[0].LateNS != int64(250*ms) {
		t.Errorf("after a late wake-up: a write waited %d ns, and the writer was %d ns late", longest, all[0].LateNS)
	}
}

// The announced bytes are an upper bound, and implausible writes are refused.
func TestBytesOfPacedWrites(t *testing.T) {
	w := PacedWrites{Sizes: []int{100, 300}, Interval: 10 * time.Millisecond, Duration: 66 * time.Second, Neighbor: 1000}
	if total, atOnce := w.Bytes(); total != 6601*200+2*1000 || atOnce != LogFile+1000 {
		t.Errorf("the writes need %d bytes, of which %d exist at once", total, atOnce)
	}
	for _, change := range []func(*PacedWrites){
		func(w *PacedWrites) { w.Sizes = nil }, func(w *PacedWrites) { w.Sizes = []int{0} }, func(w *PacedWrites) { w.Interval = 0 },
		func(w *PacedWrites) { w.Duration = 0 }, func(w *PacedWrites) { w.Neighbor = -1 },
	} {
		bad := w
		if change(&bad); bad.Check() == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// Real writes leave no file, whether they end, are canceled, or are no longer needed.
func TestPacedWritesLeaveNothing(t *testing.T) {
	w := PacedWrites{Sizes: []int{2300}, Interval: 5 * time.Millisecond, Duration: time.Second}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	enough := errors.New("enough")
	for name, test := range map[string]struct {
		ctx    context.Context
		second error
		want   error
	}{"complete": {t.Context(), nil, nil}, "canceled": {canceled, nil, nil}, "enough": {t.Context(), enough, enough}} {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		seconds := 0
		if err := w.Run(test.ctx, root, func(s measure.WrittenSecond) error { seconds++; return test.second }); !errors.Is(err, test.want) || test.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%s: the folder still contains %v", name, entries)
		}
		if name == "complete" && seconds != 1 {
			t.Errorf("%d seconds", seconds)
		}
		_ = root.Close()
	}
}

// The neighbor's file has the requested size, and is removed.
func TestNeighbor(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	n := &neighbor{size: 3<<20 + 5}
	if err := n.writeFile(t.Context(), root); err != nil || n.written.Load() != n.size {
		t.Errorf("%d bytes were written: %v", n.written.Load(), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("the folder still contains %v", entries)
	}
}

// A client without the token gets no answer. A host that cannot be reached is an error that names
// the address. If the host's agent listens on a loopback address, the error names the flag that
// changes this.
func TestEcho(t *testing.T) {
	e, err := StartEcho("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	trips, err := RoundTrips(t.Context(), e.Address, e.Token, 20, time.Minute)
	if err != nil || len(trips.NS) != 20 || slices.Min(trips.NS) <= 0 || trips.Segments < 40 || trips.Retransmitted < 0 {
		t.Errorf("%+v, %v", trips, err)
	}
	if _, err := RoundTrips(t.Context(), e.Address, strings.Repeat("00", echoToken), 1, time.Minute); err == nil {
		t.Error("a wrong token was accepted")
	}
	e.Close()
	if _, err := RoundTrips(t.Context(), e.Address, e.Token, 1, time.Minute); err == nil || err.Error() != "cannot measure round trips to "+e.Address+": connection refused; start the agent on that host with an --address that the other hosts can reach" {
		t.Errorf("measuring round trips after the end of the echo returned: %v", err)
	}
}
