package scenario

import (
	"slices"
	"strings"
	"testing"
)

// An impossible network fault is refused with a one-sentence error.
func TestWrongNetworkFaultsAreRefused(t *testing.T) {
	const file = "trials: [{store: etcd, operation: put, duration: 10s, faults: ["
	for fault, want := range map[string]string{
		"isolate leader from clients at 1s for 1s":       `the fault "isolate leader from clients at 1s for 1s" separates members from each other, but not from clients; remove the field "from", or choose blackhole`,
		"split leader direction in at 1s for 1s":         `the fault "split leader direction in at 1s for 1s" separates members in both directions; remove the field "direction", or choose isolate or blackhole`,
		"bridge all at 1s for 1s":                        `the fault "bridge all at 1s for 1s" applies to one member and not to all; name a single member`,
		"random all of split/kill at 1s for 1s every 3s": `the fault "random all of split/kill at 1s for 1s every 3s" applies to one member and not to all; name a single member`,
		"kill leader from peers at 1s for 1s":            `the fault "kill leader from peers at 1s for 1s" is not a network fault, but only network faults can have the fields "from", "direction", "to" and a percentage in "by"; remove them`,
		"loss leader at 1s for 1s":                       `the fault "loss leader at 1s for 1s" needs the field "by": the percentage of packets that are lost, for example "by: 10%"`,
		"loss leader by 10ms at 1s for 1s":               `the fault "loss leader by 10ms at 1s for 1s" needs the field "by": the percentage of packets that are lost, for example "by: 10%"`,
		"delay leader at 1s for 1s":                      `the fault "delay leader at 1s for 1s" needs the field "by": how much later each packet arrives, for example "by: 50ms"`,
		"delay leader by 10% at 1s for 1s":               `the fault "delay leader by 10% at 1s for 1s" has a percentage of packets in the field "by", which applies only to loss and reorder; remove the field, or choose one of these kinds`,
		"blackhole leader by 10ms at 1s for 1s":          `the fault "blackhole leader by 10ms at 1s for 1s" has a duration in the field "by", which applies only to slow-disk, power-loss and delay; remove the field, or choose one of these kinds`,
		"slow-link leader at 1s for 1s":                  `the fault "slow-link leader at 1s for 1s" needs the field "to": the throughput of the link, for example "to: 1MB/s"`,
		"delay m1 by 1ms to 1B/s at 1s for 1s":           `the fault "delay m1 by 1ms to 1B/s at 1s for 1s" has the field "to", which applies only to slow-link (the throughput of the link); remove the field, or choose slow-link`,
		"isolate leader at 1s":                           `the fault "isolate leader at 1s" needs the field "for": how long the fault lasts, for example "for: 3s"`,
		"slow-link m1 to 1MB at 1s for 1s":               `"1MB" is not a rate; write one as in 100KB/s or 1MB/s`,
		"slow-link m1 to 0B/s at 1s for 1s":              `the rate of a link must be above 0, not 0B/s; to block all packets, choose blackhole`,
		"loss m1 by 100% at 1s for 1s":                   `"100%" is not a share above 0 and below 100 %; write a share such as 2%`,
		"isolate m1 from everyone at 1s for 1s":          `the field "from" of a fault cannot be "everyone"; choose peers or clients or all`,
		"isolate m1 direction up at 1s for 1s":           `the field "direction" of a fault cannot be "up"; choose both or in or out`,
	} {
		_, err := Parse("f.yaml", []byte(file+fault+"]}]"), shelf{}, Options{})
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s:\n%v\n%s", fault, err, want)
		}
	}
	for _, c := range []struct{ file, want string }{
		{"trials: [{store: etcd, operation: put, duration: 10s, members: 1, faults: [isolate leader at 1s for 1s]}]", `the fault "isolate leader at 1s for 1s" needs a cluster of at least 2 members, but this cluster has 1`},
		{"trials: [{store: etcd, operation: put, duration: 10s, members: 2, faults: [random any of kill/bridge at 1s for 1s every 3s]}]", `the fault "random any of kill/bridge at 1s for 1s every 3s" needs a cluster of at least 3 members, but this cluster has 2`},
		{"trials: [{store: etcd, operation: put, duration: 10s, members: 1, faults: [delay m1 by 1ms from peers at 1s for 1s]}]", `the fault "delay m1 by 1ms from peers at 1s for 1s" needs a cluster of at least 2 members, but this cluster has 1`},
	} {
		_, err := Parse("f.yaml", []byte(c.file), shelf{}, Options{})
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v\n%s", err, c.want)
		}
	}
}

// Before a run, quorumbench reports the store's requirements for upgrades, once per trial.
func TestUpgradeWarnings(t *testing.T) {
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
