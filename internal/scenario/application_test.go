package scenario

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// An application describes itself as a load, and what is said of its size reaches it.
func TestApplicationIsALoad(t *testing.T) {
	s, err := Parse("f.yaml", []byte("trials: [{name: a, store: etcd, application: kubernetes, churn: 0, pods-per-node: 10, duration: 1m}]"), shelf{}, assignments(t, "nodes=5000"))
	if err != nil {
		t.Fatal(err)
	}
	l := s.Trials[0].Load
	if a := l.Application; a.Nodes != 5000 || a.PodsPerNode != 10 || a.Churn != 0 || a.Name != "kubernetes" {
		t.Errorf("%+v", a)
	}
	if l.Arrival != Recorded || l.Rate.PerSecond < 510 || l.Rate.PerSecond > 540 || l.Warmup != 0 || l.Total != 0 || l.Duration != time.Minute || !l.Preload || l.Prefix != "/registry/" || l.Watch == nil {
		t.Errorf("it is the load %+v", l)
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
	if err != nil || back.Application != l.Application {
		t.Errorf("it is recorded as %s, and read as %+v (%v)", b, back.Application, err)
	}
	if err := l.Valid(); err != nil {
		t.Errorf("from elsewhere it is refused: %v", err)
	}
}
