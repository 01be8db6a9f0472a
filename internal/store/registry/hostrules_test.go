package registry

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Each rule about machines has a document with an address, a limit, an effect and a remedy.
func TestHostRulesHaveSources(t *testing.T) {
	var names []string
	for _, of := range HostRules() {
		names = append(names, of.Store)
		sources := []kv.Document{of.Rules.Document}
		for _, rule := range of.Rules.Rules {
			if sources = append(sources, rule.Source); (rule.AtLeast > 0) == (rule.AtMost > 0) || rule.Effect == "" || rule.Remedy == "" {
				t.Errorf("%s: %+v", of.Store, rule)
			}
		}
		for _, s := range sources {
			if u, err := url.Parse(s.URL); err != nil || u.Scheme != "https" || u.Host == "" || s.Title == "" {
				t.Errorf("%s: the source %+v", of.Store, s)
			}
		}
		if of.Rules.Disk.Limit <= 0 || of.Rules.Record < 1 || of.Rules.Written == "" {
			t.Errorf("%s: %+v", of.Store, of.Rules)
		}
	}
	if !slices.Equal(names, []string{"etcd", "zookeeper", "consul", "k3s"}) {
		t.Errorf("the stores with host rules are %q", names)
	}
}

// The recommended settings are the stores' defaults on a fast network and disk, and follow the
// documents' formulas on slow ones.
func TestSettings(t *testing.T) {
	const ms = time.Millisecond
	fast := kv.Measured{MeanRoundTrip: ms, P99RoundTrip: 2 * ms, P99Write: 2 * ms, LongestWrite: 30 * ms}
	slow := kv.Measured{MeanRoundTrip: 130 * ms, P99RoundTrip: 150 * ms, P99Write: 21 * ms, LongestWrite: 900 * ms}
	worst := kv.Measured{MeanRoundTrip: 9 * time.Second, P99RoundTrip: 9 * time.Second, P99Write: time.Second, LongestWrite: 9 * time.Second}
	for _, test := range []struct {
		m    kv.Measured
		want []string
	}{
		{fast, []string{"heartbeat-interval=100ms", "election-timeout=1000ms", "tickTime=2000", "raft_multiplier=1"}},
		{slow, []string{"heartbeat-interval=160ms", "election-timeout=1800ms", "tickTime=2100", "raft_multiplier=5"}},
		{worst, []string{"heartbeat-interval=10000ms", "election-timeout=50000ms", "tickTime=36000", "raft_multiplier=10"}},
	} {
		var got []string
		for _, of := range HostRules() {
			if of.Rules.Settings == nil {
				continue
			}
			for _, s := range of.Rules.Settings(test.m) {
				got = append(got, s.Name+"="+s.Value)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: %q, not %q", test.m, got, test.want)
		}
	}
}
