package trial

import (
	"slices"
	"testing"
	"time"
)

// If all members are given on the command line, member:2 is the second endpoint there.
func TestMembersAreNumberedAsGiven(t *testing.T) {
	all := []string{"h:1", "h:2", "h:3"}
	for _, test := range []struct{ given, want []string }{
		{[]string{"h:3", "h:1", "h:2"}, []string{"h:3", "h:1", "h:2"}},
		{[]string{"h:3"}, all},
		{[]string{"localhost:1", "localhost:2", "localhost:3"}, all},
		{nil, all},
	} {
		if got := inOrder(test.given, all); !slices.Equal(got, test.want) {
			t.Errorf("with the endpoints %v, the members are ordered as %v", test.given, got)
		}
	}
}

// In a stall, the throughput that is displayed during a trial drops to 0.
func TestMeterSeesAStall(t *testing.T) {
	var m rateMeter
	at := time.Unix(0, 0)
	for _, step := range []struct {
		count uint64
		want  float64
	}{{0, 0}, {250, 1000}, {500, 1000}, {750, 1000}, {1000, 1000}, {1250, 1000}, {1250, 750}, {1250, 500}, {1250, 250}, {1250, 0}, {1250, 0}, {1300, 50}} {
		if got := m.rate(at, step.count); got != step.want {
			t.Errorf("after %v with %d operations, the rate is %v/s, want %v/s", at.Sub(time.Unix(0, 0)), step.count, got, step.want)
		}
		at = at.Add(250 * time.Millisecond)
	}
}
