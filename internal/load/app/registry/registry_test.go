package registry

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/load/app"
)

// Each application says with which of its parameters its load grows, and it does, or why
// none is searched.
func TestWhatScales(t *testing.T) {
	for _, a := range All() {
		d := a.Definition()
		if (len(d.Scales) == 0) != (d.Unsearched != "") {
			t.Errorf("%s says that its load grows with %q, and why none is searched: %q", d.Name, d.Scales, d.Unsearched)
		}
		for _, key := range d.Scales {
			p := d.Scaling(key)
			if p == nil || p.Unit != app.Whole && p.Unit != app.Number {
				t.Errorf("%s: %s is no number of its parameters", d.Name, key)
				continue
			}
			few, many := d.Defaults(), d.Defaults()
			many[key] = min(2*few[key], p.Most)
			if k, why := a.Check(many); why != "" {
				t.Errorf("%s: %s=%g is refused: %s %s", d.Name, key, many[key], k, why)
				continue
			}
			for way := range d.Ways {
				less, more := a.Profile(few, way), a.Profile(many, way)
				if more.PerSecond() <= less.PerSecond() && more.There <= less.There && more.Watchers <= less.Watchers {
					t.Errorf("%s: the load of %s=%g is no larger than that of %g", d.Name, key, many[key], few[key])
				}
			}
		}
		if d.Scaling("") != nil {
			t.Errorf("%s has a parameter without a key", d.Name)
		}
	}
}
