package scenario

import (
	"strings"
	"testing"
)

func TestCheckLoadsAreEtcdctls(t *testing.T) {
	for _, of := range []map[string]CheckLoad{PerfLoads, ScaleLoads} {
		for name, want := range map[string]string{"s": "s", "small": "s", "m": "m", "medium": "m", "l": "l", "large": "l", "xl": "xl", "xLarge": "xl"} {
			if got, l, err := FindCheckLoad(name, of); err != nil || got != want || l != of[want] {
				t.Errorf("load %s is %q, %+v, %v", name, got, l, err)
			}
		}
		for _, name := range []string{"", "S", "xlarge", "huge"} {
			if _, _, err := FindCheckLoad(name, of); err == nil || !strings.HasPrefix(err.Error(), "unknown load option "+name) {
				t.Errorf("load %q: %v", name, err)
			}
		}
	}
}

// A flag can have the value false even if the load omits the parameter.
func TestFlagsCanBeFalse(t *testing.T) {
	for _, key := range []string{"cleanup", "cleanup-compact", "cleanup-defragment", "compact-first", "require-memory"} {
		for _, no := range []string{"false", "0"} {
			c := NewCommand("put")
			if err := c.Set(key, no); err != nil {
				t.Fatal(err)
			}
			ask := CommandOptions{Store: "etcd", RunningCluster: &RunningCluster{Endpoints: []string{"a:1"}}, Seed: 1, Repeats: 1}
			if _, err := c.Scenario(shelf{}, ask); err != nil {
				t.Errorf("%s=%s: %v", key, no, err)
			}
		}
	}
}
