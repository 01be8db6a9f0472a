package scenario

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/registry"
)

// An application describes itself as a load, and what is said of its size reaches it.
func TestApplicationIsALoad(t *testing.T) {
	s, err := Parse("f.yaml", []byte("trials: [{name: a, store: etcd, application: kubernetes, churn: 0, pods-per-node: 10, duration: 1m}]"), shelf{}, assignments(t, "nodes=5000"))
	if err != nil {
		t.Fatal(err)
	}
	l := s.Trials[0].Load
	if a := l.Application; !maps.Equal(a.Settings, app.Settings{"nodes": 5000, "pods-per-node": 10, "churn": 0}) || a.Name != "kubernetes" {
		t.Errorf("%+v", a)
	}
	if l.Arrival != Recorded || l.Rate.PerSecond < 510 || l.Rate.PerSecond > 540 || l.Warmup != 0 || l.Total != 0 || l.Duration != time.Minute || !l.Preload || l.Prefix != "/registry/" || l.Watch == nil {
		t.Errorf("it is the load %+v", l)
	}
	if label := l.arrivalLabel(); !regexp.MustCompile(`^scheduled 5\d\d/s$`).MatchString(label) {
		t.Errorf("a dry run calls its times %q", label)
	}
	sum := 0.0
	for _, o := range l.Mix {
		if sum += o.Weight; o.Kind == kv.CAS && o.Weight < 500 {
			t.Errorf("%v transactions a second", o.Weight)
		}
	}
	if d := sum - l.Rate.PerSecond; d > 1e-6 || d < -1e-6 {
		t.Errorf("the mix is %v a second, and the rate %v", sum, l.Rate.PerSecond)
	}
	var back Load
	b, err := l.Encode()
	if err == nil {
		err = back.Decode(b)
	}
	if err != nil || !reflect.DeepEqual(back.Application, l.Application) {
		t.Errorf("it is recorded as %s, and read as %+v (%v)", b, back.Application, err)
	}
	if err := l.Valid(); err != nil {
		t.Errorf("from elsewhere it is refused: %v", err)
	}
}

// Applications that have a parameter of one key have it of one unit, each within bounds
// of its own, and every application is right as it is when nothing is given.
func TestApplicationsFitTogether(t *testing.T) {
	units := map[string]app.Unit{}
	for _, a := range registry.All() {
		d := a.Definition()
		if len(d.Ways) == 0 || d.Name == "" || d.Meaning == "" {
			t.Errorf("%q has %d ways of using a store, and the meaning %q", d.Name, len(d.Ways), d.Meaning)
		}
		if p := d.Outside(d.Defaults()); p != nil {
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

// A setting of each unit is read as it is written, by files and by records.
func TestSettingsReadBack(t *testing.T) {
	for unit, v := range map[app.Unit]float64{app.Whole: 1e6, app.Number: 0.125, app.Seconds: 90.5, app.Bytes: 4096} {
		s := &setting{Parameter: app.Parameter{Key: "x", Unit: unit, Most: 1e9}}
		var l, back, again Load
		l.Application.set("x", v)
		if err := s.parse(&back, s.text(&l)); err != nil || back.Application.Settings["x"] != v {
			t.Errorf("%v is written %q and read as %v, %v", v, s.text(&l), back.Application.Settings["x"], err)
		}
		b, err := json.Marshal(s.encode(&l))
		if err == nil {
			err = s.decode(&again, b)
		}
		if err != nil || again.Application.Settings["x"] != v {
			t.Errorf("%v is recorded as %s and read as %v, %v", v, b, again.Application.Settings["x"], err)
		}
		if s.hint() == "" || s.bounds() == "" {
			t.Errorf("unit %d has the hint %q and the bounds %q", unit, s.hint(), s.bounds())
		}
	}
}
