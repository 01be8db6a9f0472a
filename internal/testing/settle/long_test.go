package settle

import (
	"slices"
	"testing"
)

func TestSampleIsFixedAndDistinct(t *testing.T) {
	t.Setenv(longEnv, "")
	all := []int{0, 1, 2, 3, 4, 5, 6}
	for n := range len(all) + 2 {
		some := Sample(t, n, all)
		distinct := slices.Compact(slices.Sorted(slices.Values(some)))
		if len(some) != min(n, len(all)) || len(distinct) != len(some) || !slices.Equal(some, Sample(t, n, all)) {
			t.Errorf("Sample of %d elements returned %v", n, some)
		}
	}
	t.Setenv(longEnv, "1")
	if some := Sample(t, 2, all); !slices.Equal(some, all) {
		t.Errorf("with %s, Sample returned %v", longEnv, some)
	}
}
