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
			t.Errorf("%s lists the scale parameters %q and the reason %q why capacity search does not support it; want exactly one of the two", d.Name, d.SizeParameters, d.NoSearchReason)
		}
		for _, key := range d.SizeParameters {
			p := d.SizeParameter(key)
			if p == nil || p.Unit != application.Integer && p.Unit != application.Number {
				t.Errorf("%s: the scale parameter %s is not a numeric parameter of the application", d.Name, key)
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
					t.Errorf("%s: the load with %s=%g is not larger than the load with %g", d.Name, key, many[key], few[key])
				}
			}
		}
		if d.SizeParameter("") != nil {
			t.Errorf("%s: SizeParameter returned a parameter for an empty key", d.Name)
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
			t.Errorf("application %q has %d ways and the meaning %q; want a name, a way and a meaning", d.Name, len(d.Ways), d.Meaning)
		}
		if p := d.OutOfBounds(d.Defaults()); p != nil {
			t.Errorf("%s: the default of %s is not within its bounds", d.Name, p.Key)
		}
		if key, why := a.Check(d.Defaults()); why != "" {
			t.Errorf("%s: its defaults are refused: %s: %s", d.Name, key, why)
		}
		for way := range d.Ways {
			if p := a.Profile(d.Defaults(), way); p.PerSecond() <= 0 || a.Phrase(d.Defaults()) == "" {
				t.Errorf("%s: the defaults send %v calls per second, and the phrase is %q; want some calls and a phrase", d.Name, p.PerSecond(), a.Phrase(d.Defaults()))
			}
		}
		for _, p := range d.Parameters {
			if u, ok := units[p.Key]; ok && u != p.Unit {
				t.Errorf("%s: the parameter %s has a different unit than in another application", d.Name, p.Key)
			}
			units[p.Key] = p.Unit
		}
	}
}
