package scenario

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"
)

// faultTexts has each way to write a fault.
var faultTexts = []string{
	"kill leader at 10s for 3s every 20s repeat 5", "terminate follower at 1s for 1s", "pause m12 at 1s for 5ms", "restart any at 1s",
	"slow-disk m1 by 200ms at 1s for 3s", "power-loss all by 2s at 5s for 1s, lying-disk follower at 9s for 3s", "power-loss all at 1s for 1s, full-disk m2 at 5s for 1s,failing-disk leader at 9s for 1s",
	"move-leader follower at 1s", "compact at 1s every 2s", "compact all at 1s", "defragment all at 1s", "snapshot leader at 1s", "alarm m1 at 1s for 1s",
	"fill-quota at 1s for 1s, enable-auth at 5s for 1s", "replace leader at 1s for 1s, rolling-restart at 10s",
	"rolling-upgrade to 3.9.5 at 1s, rolling-upgrade to /opt/etcd at 50s, rolling-upgrade to default at 90s",
	"slow-disk leader by 1h at 1s for 5s, slow-disk all by -90s at 10s for 1s, random any of slow-disk/kill by -1ms at 20s for 1s every 3s",
	"random any of kill/pause/compact at 1s for 2s every 10s repeat 9", "none",
}

// What is read as faults is written so that the same is read, in flags and in
// records, and what happens of them is bounded and in order.
func FuzzFaults(f *testing.F) {
	for _, text := range faultTexts {
		f.Add(text)
	}
	for _, c := range []string{"", ",", "kill", "kill leader at", "kill leader at at", "kill leader at 1s at 2s", "kill m0 at 1s for 1s", "kill leader repeat 99999999999 every 1ns at 0s", "random any of / at 1s"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseFaults(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("refused without a sentence")
			}
			return
		}
		if len(all) > 0 {
			if again, err := ParseFaults(faultsText(all)); err != nil || !reflect.DeepEqual(all, again) {
				t.Fatalf("%+v is written %q, which is %+v, %v", all, faultsText(all), again, err)
			}
			b, err := json.Marshal(encodeFaults(all))
			if err != nil {
				t.Fatal(err)
			}
			if again, err := decodeFaults(b); err != nil || !reflect.DeepEqual(all, again) {
				t.Fatalf("%+v is recorded %s, which is %+v, %v", all, b, again, err)
			}
		}
		l := Load{Duration: time.Hour, Faults: all}
		c := &checks{}
		checkFaultList(c, "faults", all)
		if len(c.found) > 0 {
			return
		}
		happens := l.Happenings()
		if len(happens) > len(all)*(maxFaults+1) {
			t.Fatalf("%d of %d faults", len(happens), len(all))
		}
		for i, h := range happens {
			if i > 0 && h.At < happens[i-1].At || h.Do >= Random || h.String() == "" {
				t.Fatalf("%+v after %+v", h, happens[max(i-1, 0)])
			}
		}
	})
}

// Random faults are the same for one seed, others for another, and within the time
// that each has.
func TestRandomFaultsComeFromTheSeed(t *testing.T) {
	all, err := ParseFaults("random any of kill/compact/slow-disk by 100ms at 10s for 3s every 20s")
	if err != nil {
		t.Fatal(err)
	}
	happen := func(seed uint64) []Happening {
		l := Load{Duration: 10 * time.Minute, Seed: seed, Faults: all}
		return l.Happenings()
	}
	first := happen(7)
	if len(first) != 29 || !reflect.DeepEqual(first, happen(7)) || reflect.DeepEqual(first, happen(8)) {
		t.Errorf("%d faults: %+v", len(first), first)
	}
	kinds := map[FaultKind]int{}
	for i, h := range first {
		kinds[h.Do]++
		begins := 10*time.Second + time.Duration(i)*20*time.Second
		if h.At < begins || h.At+h.For >= begins+20*time.Second || (h.For == 0) != (h.Do == Compact) || (h.By == 0) != (h.Do != SlowDisk) {
			t.Errorf("the fault %d: %+v", i, h)
		}
	}
	if len(kinds) != 3 {
		t.Errorf("the kinds are %v", kinds)
	}
}

// What an upgrade needs is said beforehand, once for a trial, of stores that know.
func TestUpgradesAreWarnedOf(t *testing.T) {
	for store, want := range map[string][]string{
		"etcd": {`trial put: the fault "rolling-upgrade to 1.0 at 1s": one version after the other`},
		"slow": nil,
	} {
		file := "trials: [{store: " + store + ", operation: put, duration: 9s, faults: [rolling-upgrade to 1.0 at 1s, rolling-upgrade to 2.0 at 5s]}]"
		s, err := Parse("f.yaml", []byte(file), shelf{}, Options{})
		if err != nil || !slices.Equal(s.Warnings, want) {
			t.Errorf("%s: it warns %q, %v", store, s.Warnings, err)
		}
	}
}
