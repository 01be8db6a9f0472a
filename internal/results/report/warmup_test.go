package report

import (
	"strings"
	"testing"
)

func TestWarmupsStandWhereTheyBelong(t *testing.T) {
	r := quick()
	for i, warmup := range []struct {
		seconds float64
		steady  bool
	}{{6.5, true}, {12, false}} {
		r.Trials[i].WarmupRun, r.Trials[i].WarmupSteady = &warmup.seconds, &warmup.steady
	}
	var run, first, second strings.Builder
	if err := Text(&run, r, ""); err != nil {
		t.Fatal(err)
	}
	if err := Summary(&first, &r.Trials[0], ""); err != nil {
		t.Fatal(err)
	}
	if err := Summary(&second, &r.Trials[1], ""); err != nil {
		t.Fatal(err)
	}
	const told, note = "timeout 10 s, steady after 6.5 s of warm-up\n", "Throughput was not steady when the window opened, after 12 s of warm-up.\n"
	for text, want := range map[string][]string{run.String(): {told, "put-all: " + note}, first.String(): {told}, second.String(): {" " + note}} {
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%q is not in\n%s", w, text)
			}
		}
	}
}
