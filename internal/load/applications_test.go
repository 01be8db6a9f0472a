package load

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// If the definition of an application lists scale parameters, a larger value of such a parameter
// must increase the load. If it lists none, it must state why capacity search does not support the
// application.
func TestApplicationsNameTheirScale(t *testing.T) {
	for _, a := range Applications() {
		d := a.Definition()
		if (len(d.SizeParameters) == 0) != (d.NoSearchReason != "") {
			t.Errorf("%s says that its load grows with %q, and why none is searched: %q", d.Name, d.SizeParameters, d.NoSearchReason)
		}
		for _, key := range d.SizeParameters {
			p := d.SizeParameter(key)
			if p == nil || p.Unit != application.Integer && p.Unit != application.Number {
				t.Errorf("%s: %s is no number of its parameters", d.Name, key)
				continue
			}
			few, many := d.Defaults(), d.Defaults()
			many[key] = min(2*few[key], p.Max)
			if k, why := a.Check(many); why != "" {
				t.Errorf("%s: %s=%g is refused: %s %s", d.Name, key, many[key], k, why)
				continue
			}
			for way := range d.Ways {
				less, more := a.Profile(few, way), a.Profile(many, way)
				if more.PerSecond() <= less.PerSecond() && more.Existing <= less.Existing && more.Watchers <= less.Watchers {
					t.Errorf("%s: the load of %s=%g is no larger than that of %g", d.Name, key, many[key], few[key])
				}
			}
		}
		if d.SizeParameter("") != nil {
			t.Errorf("%s has a parameter without a key", d.Name)
		}
	}
}

// Parameters with the same key have the same unit in all applications. The defaults are inside the
// bounds of the parameters, and every application accepts its own defaults.
func TestApplicationsFitTogether(t *testing.T) {
	units := map[string]application.Unit{}
	for _, a := range Applications() {
		d := a.Definition()
		if len(d.Ways) == 0 || d.Name == "" || d.Meaning == "" {
			t.Errorf("%q has %d ways of using a store, and the meaning %q", d.Name, len(d.Ways), d.Meaning)
		}
		if p := d.OutOfBounds(d.Defaults()); p != nil {
			t.Errorf("%s: the default of %s is not within its bounds", d.Name, p.Key)
		}
		if key, why := a.Check(d.Defaults()); why != "" {
			t.Errorf("%s: its defaults are refused: %s: %s", d.Name, key, why)
		}
		for way := range d.Ways {
			if p := a.Profile(d.Defaults(), way); p.PerSecond() <= 0 || a.Phrase(d.Defaults()) == "" {
				t.Errorf("%s: it sends %v calls a second: %q", d.Name, p.PerSecond(), a.Phrase(d.Defaults()))
			}
		}
		for _, p := range d.Parameters {
			if u, ok := units[p.Key]; ok && u != p.Unit {
				t.Errorf("%s: %s has another unit than another application's", d.Name, p.Key)
			}
			units[p.Key] = p.Unit
		}
	}
}
