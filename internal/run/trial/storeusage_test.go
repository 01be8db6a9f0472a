package trial

import (
	"context"
	"maps"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// used returns the usage of a process.
func used(user, system float64, rss int64) probe.ProcessUsage {
	return probe.ProcessUsage{OK: true, UserSeconds: user, SystemSeconds: system, RSS: rss}
}

// single returns members with one process each.
func single(names ...string) (out []cluster.Member) {
	for _, name := range names {
		out = append(out, cluster.Member{Process: cluster.Process{Name: name}})
	}
	return out
}

// The store's usage is the sum of the usage of the members' processes between the start and the end
// of the window. It includes neither the generator nor the warm-up nor the drain.
func TestStoreUsageCoversTheWindow(t *testing.T) {
	u := newStoreUsage(single("m1", "m2"))
	add := func(second float64, of ...probe.ProcessUsage) {
		u.add(atSecond(second), []string{"m1", "m2", "generator"}, of)
	}
	add(0, used(10, 1, 100), used(20, 2, 1000), used(5, 5, 1<<30))
	add(1, used(11, 1, 900), used(20, 2, 1000), used(6, 6, 1<<30))
	add(1.5, used(11.5, 1, 200), used(20.25, 2, 1000)) // the window opened
	add(2, used(12, 1.5, 300), used(20.5, 2, 1001), used(7, 7, 1<<30))
	add(3, used(13, 1.5, 250), used(21, 2.5, 1000), used(8, 8, 1<<30))
	add(3.5, used(13.5, 1.5, 260), used(21, 2.5, 1000)) // the window closed
	add(4, used(99, 1.5, 8000), used(99, 2.5, 8000), used(9, 9, 1<<30))
	u.isLocal["m2"] = false // on another machine
	got, here := u.usageBetween(atSecond(1.5), atSecond(3.5))
	if got == nil || math.Abs(got.CPUSeconds-(2.5+1.25)) > 1e-9 || math.Abs(here-2.5) > 1e-9 || got.MaxRSSBytes != 300+1001 {
		t.Errorf("%+v", got)
	}
	// If there are no samples at the start and end of the window, the usage is interpolated.
	if got, _ := u.usageBetween(atSecond(2.25), atSecond(2.75)); got == nil || math.Abs(got.CPUSeconds-(0.5+0.5)) > 1e-9 || got.MaxRSSBytes != 300+1001 {
		t.Errorf("%+v", got)
	}
}

// The written bytes and the growth of memory cover only the window. If the number of written bytes
// is unknown for one process, the sum is also unknown.
func TestStoreUsageHasWrittenBytes(t *testing.T) {
	u, names := newStoreUsage(single("m1", "m2")), []string{"m1", "m2"}
	wrote := func(rss, written int64) probe.ProcessUsage {
		p := used(1, 1, rss)
		p.WriteBytes = written
		return p
	}
	for second := range 6 {
		s := int64(second)
		u.add(atSecond(float64(second)), names, []probe.ProcessUsage{wrote(1000+100*s, 5000*s), wrote(1000-50*s, 1<<40+s)})
	}
	got, _ := u.usageBetween(atSecond(1.5), atSecond(4))
	if got == nil || got.WrittenBytes == nil || *got.WrittenBytes != 12_503 || got.GrowthRSSBytes != 125 { // computed for 2.5 s; the half byte is rounded up
		t.Errorf("%+v", got)
	}
	u.add(atSecond(6), names, []probe.ProcessUsage{wrote(1, 1<<40), wrote(1, -1)})
	if got, _ := u.usageBetween(atSecond(1), atSecond(6)); got == nil || got.WrittenBytes != nil {
		t.Errorf("%+v", got)
	}
}

// The growth of the databases is the difference between two sizes: the first size that was reported
// at or soon after the start of the window, and the first size at or soon after its end.
func TestDatabaseGrowth(t *testing.T) {
	size := func(second, bytes float64) sizeSample { return sizeSample{atSecond(second), bytes} }
	m1, m2 := &memberScraper{sizes: []sizeSample{size(0, 100), size(1.1, 110), size(2, 200), size(4, 500)}}, &memberScraper{sizes: []sizeSample{size(1, 70), size(3.5, 50)}}
	s := &metricsRecorder{members: []*memberScraper{m1, m2}}
	if got := s.databaseGrowth(atSecond(1), atSecond(3)); got == nil || *got != 390-20 {
		t.Errorf("%v", got)
	}
	for what, edges := range map[string][2]float64{"never after": {1, 5}, "much later": {1, 1.6}} {
		if got := s.databaseGrowth(atSecond(edges[0]), atSecond(edges[1])); (got == nil) != (what == "never after") {
			t.Errorf("%s: %v", what, got)
		}
	}
	m2.sizes = []sizeSample{size(1, 70), size(5.5, 50)}
	if got := s.databaseGrowth(atSecond(1), atSecond(3)); got != nil {
		t.Errorf("the growth is known although the last size was reported too late: %v", *got)
	}
	if got := (&metricsRecorder{}).databaseGrowth(atSecond(1), atSecond(2)); got != nil {
		t.Errorf("the growth without members is %v", *got)
	}
}

// The usage of a member does not change after the member has exited. The sum is unknown if a member
// was never sampled, if a member was not sampled before the window, or if the cluster runs on
// unknown machines.
func TestStoreUsageNeedsSamplesOfAllMembers(t *testing.T) {
	u, names := newStoreUsage(single("m1", "m2")), []string{"m1", "m2"}
	u.add(atSecond(0), names, []probe.ProcessUsage{used(1, 0, 100), used(1, 0, 100)})
	u.add(atSecond(1), names, []probe.ProcessUsage{used(2, 0, 100), used(2, 0, 100)})
	u.add(atSecond(2), names, []probe.ProcessUsage{used(3, 0, 100), {}})
	if got, _ := u.usageBetween(atSecond(0), atSecond(2)); got == nil || got.CPUSeconds != 3 || got.MaxRSSBytes != 200 {
		t.Errorf("the usage with a member that exited in the window is %+v", got)
	}
	if got, _ := u.usageBetween(atSecond(1.5), atSecond(2)); got == nil || got.CPUSeconds != 0.5 || got.MaxRSSBytes != 100 {
		t.Errorf("the usage in a later window is %+v", got)
	}
	if got, _ := u.usageBetween(atSecond(-1), atSecond(2)); got != nil {
		t.Errorf("the usage is known without a sample at the start of the window: %+v", got)
	}
	if got, _ := u.usageBetween(atSecond(2), atSecond(0)); got != nil {
		t.Errorf("the usage of an invalid window is %+v", got)
	}
	if got, _ := newStoreUsage(nil).usageBetween(atSecond(0), atSecond(1)); got != nil {
		t.Errorf("the usage without members is %+v", got)
	}
	u = newStoreUsage(single("m1", "m3"))
	u.add(atSecond(0), names[:1], []probe.ProcessUsage{used(1, 0, 100)})
	if got, _ := u.usageBetween(atSecond(0), atSecond(1)); got != nil {
		t.Errorf("the usage is known although a member was never sampled: %+v", got)
	}
}

// machine is a host with a scripted description.
type machine struct {
	*host.Local
	about   host.Description
	sampled [][]int // the process IDs in each request
}

func (m *machine) Describe(context.Context) (host.Description, error) { return m.about, nil }

func (m *machine) Sample(ctx context.Context, pids []int, whole bool) (host.Sample, error) {
	m.sampled = append(m.sampled, pids)
	return m.Local.Sample(ctx, pids, whole)
}

// another returns a machine with a different name.
func another(name string, now func() time.Time) *machine {
	m := &machine{Local: host.NewLocal(now, nil)}
	m.about.Place, m.about.Machine.Name = host.Place{Machine: name, Boot: name}, name
	return m
}

// runningOn returns a member whose process is this process.
func runningOn(h host.Host, name string) cluster.Member {
	return cluster.Member{Host: h, Process: cluster.Process{Name: name, PID: os.Getpid()}}
}

// stepping returns a clock that advances by one second in each call.
func stepping() func() time.Time {
	second := -1.0
	return func() time.Time { second++; return atSecond(second) }
}

func sampling(t *testing.T, generator *machine, members ...cluster.Member) *sampler {
	t.Helper()
	if s, err := generator.Local.Sample(t.Context(), nil, true); err != nil || s.Machine == nil {
		t.Skip("this system does not report the usage of processes")
	}
	s, err := newSampler(t.Context(), generator, members)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The usage is computed from the samples for rows and from the samples at the start and end of the
// window. The sampler's own process is not included.
func TestSamplerCollectsStoreUsage(t *testing.T) {
	h := another("a", nil)
	s := sampling(t, h, runningOn(h, "m1"))
	h.Local = host.NewLocal(stepping(), nil)
	s.rows(t.Context())
	s.edge()
	s.edge() // does not block
	s.sampleMembers(t.Context())
	s.rows(t.Context())
	if n := len(s.store.samples["m1"]); n != 3 || len(s.store.samples) != 1 {
		t.Errorf("m1 has %d samples; the samples of all processes are %v", n, s.store.samples)
	}
	if got, _ := s.store.usageBetween(atSecond(0), atSecond(2)); got == nil || got.MaxRSSBytes <= 0 || got.CPUSeconds < 0 {
		t.Errorf("%+v", got)
	}
}

// Each host is asked about its own processes. Each machine has one row, even if two hosts are on
// the same machine.
func TestSamplerAsksEachHost(t *testing.T) {
	here, there := another("here", nil), another("there", nil)
	other := another("here", nil)
	s := sampling(t, here, runningOn(there, "m1"), runningOn(other, "m2"), runningOn(there, "m3"))
	var names []string
	for _, row := range s.rows(t.Context()) {
		if kind := row.Kind(); kind != record.DiskRow && kind != record.ProgramRow { // these rows depend on this machine
			names = append(names, row.Name)
		}
	}
	if want := []string{"generator", "m1", "m3", "m2", "machine", "machine there"}; !slices.Equal(names, want) {
		t.Errorf("the rows are %q, want %q", names, want)
	}
	if want := map[string]bool{"m1": false, "m2": true, "m3": false}; !maps.Equal(s.store.isLocal, want) {
		t.Errorf("the members on the generator's machine are %v", s.store.isLocal)
	}
	s.sampleMembers(t.Context())
	for h, want := range map[*machine][]int{here: {1}, there: {2, 2}, other: {1, 1}} {
		var got []int
		for _, pids := range h.sampled {
			got = append(got, len(pids))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the numbers of processes in the requests to a host are %v, want %v", got, want)
		}
	}
	for name, member := range map[string]bool{"generator": false, "machine": false, "machine there": false, "m1": true} {
		if r := (record.MachineRow{Name: name}); r.IsMember() != member {
			t.Errorf("%s: member is %v", name, r.IsMember())
		}
	}
}
