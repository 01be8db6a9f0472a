package scenario

import (
	"testing"
)

func TestDistributionsReadBack(t *testing.T) {
	for s, want := range map[string]Distribution{
		"sequential": {Name: Sequential}, "uniform": {Name: Uniform},
		"zipfian": {Name: Zipfian, Theta: 0.99}, "zipfian:0.5": {Name: Zipfian, Theta: 0.5},
		"hotspot": {Name: Hotspot, HotKeys: 0.2, HotOps: 0.8}, "hotspot:0.1:0.75": {Name: Hotspot, HotKeys: 0.1, HotOps: 0.75},
	} {
		got, err := ParseDistribution(s)
		if err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", s, got, err, want)
		}
		if back, err := ParseDistribution(got.String()); err != nil || back != want {
			t.Errorf("%s is written %s, which reads as %+v, %v", s, got, back, err)
		}
	}
	for s, want := range map[string]string{
		"":            `there is no distribution ""; choose sequential, uniform, zipfian or hotspot`,
		"uniform:1":   `the distribution uniform has no parameters, but "uniform:1" gives some; remove them`,
		"zipfian:":    `in the distribution "zipfian:": "" is not a number; write a number such as 500 or 0.5`,
		"zipfian:1:2": `"zipfian:1:2" is not a distribution; write zipfian:0.99 or hotspot:0.2:0.8`,
		"hotspot:0.1": `"hotspot:0.1" is not a distribution; write zipfian:0.99 or hotspot:0.2:0.8`,
		"zipfian:nan": `in the distribution "zipfian:nan": "nan" is not a number; write a number such as 500 or 0.5`,
	} {
		if _, err := ParseDistribution(s); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", s, err, want)
		}
	}
}

func TestRatesReadBack(t *testing.T) {
	for s, want := range map[string]Rate{
		"5000": {PerSecond: 5000}, "0.5": {PerSecond: 0.5}, "1_000": {PerSecond: 1000}, "1e4": {PerSecond: 10000},
		"50% of put": {Percent: 50, SourceTrial: "put"}, "12.5 % of a-b": {Percent: 12.5, SourceTrial: "a-b"},
	} {
		got, err := parseRate(s)
		if err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", s, got, err, want)
		}
		if back, err := parseRate(got.String()); err != nil || back != want {
			t.Errorf("%s is written %s, which reads as %+v, %v", s, got, back, err)
		}
	}
	for _, s := range []string{"", "fast", "50%", "50% of", "50% of a b", "% of a", "x% of a", "inf", "NaN"} {
		if r, err := parseRate(s); err == nil {
			t.Errorf("parseRate accepts %q as %+v", s, r)
		}
	}
}

func TestArrivalsReadBack(t *testing.T) {
	for a := range numArrivals {
		if got, err := ParseArrival(a.String()); err != nil || got != a {
			t.Errorf("%s is read as %v, %v", a, got, err)
		}
	}
	if s := Arrival(9).String(); s != "unknown" {
		t.Errorf("an arrival that does not exist is written %q", s)
	}
}
