package fault

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// faultTexts contains an example for each form in which a fault can be written.
var faultTexts = []string{
	"kill leader at 10s for 3s every 20s repeat 5", "terminate follower at 1s for 1s", "pause m12 at 1s for 5ms", "restart any at 1s",
	"slow-disk m1 by 200ms at 1s for 3s", "power-loss all by 2s at 5s for 1s, lying-disk follower at 9s for 3s", "power-loss all at 1s for 1s, full-disk m2 at 5s for 1s,failing-disk leader at 9s for 1s",
	"move-leader follower at 1s", "compact at 1s every 2s", "compact all at 1s", "defragment all at 1s", "snapshot leader at 1s", "alarm m1 at 1s for 1s",
	"fill-quota at 1s for 1s, enable-auth at 5s for 1s", "replace leader at 1s for 1s, rolling-restart at 10s",
	"rolling-upgrade to 3.9.5 at 1s, rolling-upgrade to /opt/etcd at 50s, rolling-upgrade to default at 90s",
	"slow-disk leader by 1h at 1s for 5s, slow-disk all by -90s at 10s for 1s, random any of slow-disk/kill by -1ms at 20s for 1s every 3s",
	"random any of kill/pause/compact at 1s for 2s every 10s repeat 9", "none",
}

// Faults keep their values when they are written to flags and records and parsed again. Their
// schedule is bounded and in order.
func FuzzFaults(f *testing.F) {
	for _, text := range faultTexts {
		f.Add(text)
	}
	for _, c := range []string{"", ",", "kill", "kill leader at", "kill leader at at", "kill leader at 1s at 2s", "kill m0 at 1s for 1s", "kill leader repeat 99999999999 every 1ns at 0s", "random any of / at 1s"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("Parse returns an error without text")
			}
			return
		}
		if len(all) > 0 {
			if again, err := Parse(Text(all)); err != nil || !reflect.DeepEqual(all, again) {
				t.Fatalf("%+v is written as %q, which reads back as %+v, %v", all, Text(all), again, err)
			}
		}
		if slices.ContainsFunc(all, func(f Fault) bool { return f.Problem() != "" }) {
			return
		}
		happens := Schedule(all, time.Hour, 0)
		if len(happens) > len(all)*(MaxFaults+1) {
			t.Fatalf("Schedule returns %d injections for %d faults", len(happens), len(all))
		}
		for i, h := range happens {
			if i > 0 && h.At < happens[i-1].At || h.Kind >= Random || h.String() == "" {
				t.Fatalf("Schedule returns the injection %+v after %+v", h, happens[max(i-1, 0)])
			}
		}
	})
}

// Random faults are identical for the same seed, different for another seed, and within their time
// range.
func TestRandomFaultsComeFromTheSeed(t *testing.T) {
	all, err := Parse("random any of kill/compact/slow-disk by 100ms at 10s for 3s every 20s")
	if err != nil {
		t.Fatal(err)
	}
	happen := func(seed uint64) []Injection {
		return Schedule(all, 10*time.Minute, seed)
	}
	first := happen(7)
	if len(first) != 29 || !reflect.DeepEqual(first, happen(7)) || reflect.DeepEqual(first, happen(8)) {
		t.Errorf("the schedule has %d faults: %+v", len(first), first)
	}
	kinds := map[Kind]int{}
	for i, h := range first {
		kinds[h.Kind]++
		begins := 10*time.Second + time.Duration(i)*20*time.Second
		if h.At < begins || h.At+h.Duration >= begins+20*time.Second || (h.Duration == 0) != (h.Kind == Compact) || (h.Amount == 0) != (h.Kind != SlowDisk) {
			t.Errorf("fault %d is %+v", i, h)
		}
	}
	if len(kinds) != 3 {
		t.Errorf("the kinds are %v", kinds)
	}
}

// Network faults keep their values when they are written as text and to records, and parsed again.
func TestNetworkFaultsReadBack(t *testing.T) {
	const text = "isolate leader at 1s for 3s, isolate m2 direction out at 1s for 3s, split follower at 1s for 3s, " +
		"bridge m1 at 1s for 3s every 20s repeat 3, blackhole leader from clients direction in at 1s for 3s, " +
		"delay all by 50ms from peers at 1s for 3s, loss m3 by 7.5% from all at 1s for 3s, reorder m3 by 7% at 1s for 3s, " +
		"slow-link leader to 100KB/s at 1s for 3s, slow-link leader to 1MiB/s at 1s for 3s, slow-link leader to 77B/s at 1s for 3s"
	all, err := Parse(text)
	if err != nil || Text(all) != text {
		t.Fatalf("%v: %s", err, Text(all))
	}
	again, err := Parse(Text(all))
	if err != nil || !reflect.DeepEqual(again, all) {
		t.Errorf("the faults read back as %v: %v", again, err)
	}
	both, err := Parse("isolate leader direction both at 1s for 3s")
	if err != nil || !reflect.DeepEqual(both[0], all[0]) {
		t.Errorf("%v, %v", both, err)
	}
}
