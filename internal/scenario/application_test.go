package scenario

import (
	"maps"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// A scenario file can give an application as the load. The load then has the mix, rate and watchers
// of the application. The rate and the number of watchers grow with the application's size
// settings.
func TestApplicationIsALoad(t *testing.T) {
	s, err := Parse("f.yaml", []byte("trials: [{name: a, store: etcd, application: kubernetes, churn: 0, pods-per-node: 10, duration: 1m}]"), shelf{}, assignments(t, "nodes=5000"))
	if err != nil {
		t.Fatal(err)
	}
	l := s.Trials[0].Load
	if a := l.Application; !maps.Equal(a.Values(), application.Settings{"nodes": 5000, "pods-per-node": 10, "churn": 0}) || a.Name != "kubernetes" {
		t.Errorf("%+v", a)
	}
	if l.Arrival != Recorded || l.Rate.PerSecond < 510 || l.Rate.PerSecond > 540 || l.Warmup != 0 || l.Total != 0 || l.Duration != time.Minute || !l.Preload || l.Prefix != "/registry/" || l.Watch == nil {
		t.Errorf("the load is %+v", l)
	}
	if label := l.arrivalLabel(); !regexp.MustCompile(`^scheduled 5\d\d/s$`).MatchString(label) {
		t.Errorf("the arrival label of a dry run is %q", label)
	}
	sum := 0.0
	for _, o := range l.Mix {
		if sum += o.Weight; o.Kind == kv.CAS && o.Weight < 500 {
			t.Errorf("the mix has %v transactions a second, want at least 500", o.Weight)
		}
	}
	if d := sum - l.Rate.PerSecond; d > 1e-6 || d < -1e-6 {
		t.Errorf("the rates of the mix add up to %v a second, and the rate is %v", sum, l.Rate.PerSecond)
	}
	var back Load
	b, err := l.Encode()
	if err == nil {
		err = back.Decode(b)
	}
	if err != nil || !reflect.DeepEqual(back.Application, l.Application) {
		t.Errorf("the load is recorded as %s and reads back as %+v (%v)", b, back.Application, err)
	}
	if err := l.Validate(Apps()); err != nil {
		t.Errorf("Validate refuses the load: %v", err)
	}
}

// Settings of every unit keep their values when they are written to files and records and read
// back.
func TestSettingsReadBack(t *testing.T) {
	for unit, v := range map[application.Unit]float64{application.Integer: 1e6, application.Number: 0.125, application.Seconds: 90.5, application.Bytes: 4096} {
		s := &setting{Parameter: application.Parameter{Key: "x", Unit: unit, Max: 1e9}}
		var l, back, again Load
		l.Application.set(s.Parameter, v)
		l.Application.Name = "a"
		if err := s.parse(&back, s.text(&l)); err != nil || back.Application.Values()["x"] != v {
			t.Errorf("%v is written as %q and reads back as %v, %v", v, s.text(&l), back.Application.Settings, err)
		}
		b, err := l.Encode()
		if err == nil {
			err = again.Decode(b)
		}
		if err != nil || again.Application.Values()["x"] != v {
			t.Errorf("%v is recorded as %s and reads back as %v, %v", v, b, again.Application.Settings, err)
		}
		if s.hint() == "" || s.bounds() == "" {
			t.Errorf("unit %d has the hint %q and the bounds %q", unit, s.hint(), s.bounds())
		}
	}
}
