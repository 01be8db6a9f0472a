package null

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	s := parse(t, `
		# the accuracy tests' script; this is a comment still
		delay=2ms; # and so is this
		delay=exponential(40ms) every 100
		stall=1s@4s; stall=250ms@1500ms
		error=unavailable every 1000; reset=cancel every 77
		close@3s; close@1s; close every 500; never every 50
		goaway every 10000; chunk=7/1ms; seed=18446744073709551615
	`)
	want := &Script{
		Seed: 1<<64 - 1,
		Delays: []Delay{
			{Low: 2 * time.Millisecond, Every: 1},
			{Distribution: Exponential, Low: 40 * time.Millisecond, Every: 100},
		},
		Stalls: []Stall{{1500 * time.Millisecond, 250 * time.Millisecond}, {4 * time.Second, time.Second}},
		Rules: []Rule{
			{Kind: Error, Name: "unavailable", Every: 1000},
			{Kind: Reset, Name: "cancel", Every: 77},
			{Kind: Close, Every: 500},
			{Kind: Never, Every: 50},
		},
		Closes: []time.Duration{time.Second, 3 * time.Second},
		GoAway: 10000,
		Chunk:  7,
		Pause:  time.Millisecond,
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

func TestParseEmpty(t *testing.T) {
	for _, text := range []string{"", ";;", " ; \n", "# nothing", "# a; b\n;"} {
		if diff := cmp.Diff(&Script{}, parse(t, text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestParseForms(t *testing.T) {
	const ms, us = time.Millisecond, time.Microsecond
	for text, want := range map[string]Script{
		"delay=uniform(1ms,5ms) every 3":    {Delays: []Delay{{Uniform, ms, 5 * ms, 3, 0}}},
		"delay=uniform(1ms, 5ms)":           {Delays: []Delay{{Uniform, ms, 5 * ms, 1, 0}}},
		"delay=exponential(2ms) every 10":   {Delays: []Delay{{Exponential, 2 * ms, 0, 10, 0}}},
		"delay=20ms on m2":                  {Delays: []Delay{{Fixed, 20 * ms, 0, 1, 2}}},
		"delay=20ms every 7 on m12":         {Delays: []Delay{{Fixed, 20 * ms, 0, 7, 12}}},
		"mode=garbage; seed=4":              {Mode: Garbage, Seed: 4},
		"mode=http1":                        {Mode: HTTP1},
		"mode=silent":                       {Mode: Silent},
		"lag=300ms":                         {Lag: 300 * ms},
		"refuse=local; lag=1s":              {NoLocal: true, Lag: time.Second},
		"wrong=key every 3":                 {Rules: []Rule{{WrongKey, "", 3}}},
		"wrong=value every 4; half every 5": {Rules: []Rule{{WrongValue, "", 4}, {Half, "", 5}}},
		"lie=lost every 2; lie=cas every 3": {Rules: []Rule{{LieLost, "", 2}, {LieCAS, "", 3}}},
		"lie=lease every 4":                 {Rules: []Rule{{LieLease, "", 4}}},
		"lie=outlive every 2":               {Rules: []Rule{{LieOutlive, "", 2}}},
		"huge=frame every 6":                {Rules: []Rule{{HugeFrame, "", 6}}},
		"huge=message every 7":              {Rules: []Rule{{HugeMessage, "", 7}}},
		"reset=refused every 9":             {Rules: []Rule{{Reset, "refused", 9}}},
		"goaway every 5; chunk=3/250us":     {GoAway: 5, Chunk: 3, Pause: 250 * us},
		"chunk=1":                           {Chunk: 1},
	} {
		if diff := cmp.Diff(&want, parse(t, text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const known = "use one of delay, seed, stall, error, reset, never, wrong, lie, half, huge, close, watch, goaway, chunk, lag, refuse, mode"
	for text, want := range map[string]string{
		"dleay=1ms":                    `line 1, column 1: unknown statement "dleay"; ` + known,
		"delay=1ms;\n  stal=1s@4s":     `line 2, column 3: unknown statement "stal"; ` + known,
		"=1":                           `line 1, column 1: unknown statement ""; ` + known,
		"delay":                        `line 1, column 6: "=" is missing here; write delay=1ms, delay=uniform(1ms,5ms) or delay=exponential(2ms)`,
		"delay=1":                      `line 1, column 7: "1" is not a duration; write for example 250us, 1ms or 1.5s`,
		"delay=-1ms":                   `line 1, column 7: -1ms is out of range; a duration must be between 0 and 1000h0m0s`,
		"delay=2000h":                  `line 1, column 7: 2000h is out of range; a duration must be between 0 and 1000h0m0s`,
		"delay=uniform(5ms,1ms)":       `line 1, column 7: the bounds in uniform(5ms,1ms) are swapped; write the lower bound first`,
		"delay=uniform(5ms)":           `line 1, column 15: "5ms)" is not a duration; write for example 250us, 1ms or 1.5s`,
		"delay=exponential(5ms":        `line 1, column 22: ")" is missing here; write delay=exponential(2ms)`,
		"delay=1ms on 2":               `line 1, column 14: invalid member "2" after "on"; write a member as in "on m2"`,
		"delay=1ms every 2 on m0":      `line 1, column 22: invalid member "m0" after "on"; write a member as in "on m2"`,
		"delay=1ms on m2 every 3":      `line 1, column 17: unexpected "every 3" after "delay=1ms on m2"`,
		"stall=1s":                     `line 1, column 9: "@" is missing here; write stall=1s@4s`,
		"stall=0s@1s":                  `line 1, column 7: a stall must be longer than 0`,
		"error=unavialable every 10":   `line 1, column 7: unknown value of error: "unavialable"; use one of unavailable, no_leader`,
		"error every 10":               `line 1, column 6: "=" is missing here; write error=unavailable, error=no_leader`,
		"error=unavailable":            `line 1, column 18: the frequency is missing; write for example "every 1000"`,
		"never each 10":                `line 1, column 7: the frequency is missing; write for example "every 1000"`,
		"never every 0":                `line 1, column 13: invalid number "0" after "every"; write a whole number of at least 1, as in "every 1000"`,
		"never every":                  `line 1, column 12: invalid number "" after "every"; write a whole number of at least 1, as in "every 1000"`,
		"never every 10 20":            `line 1, column 16: unexpected "20" after "never every 10"`,
		"wrong=valeu every 3":          `line 1, column 7: unknown value of wrong: "valeu"; use one of value, key`,
		"lie=white every 3":            `line 1, column 5: unknown value of lie: "white"; use one of lost, twice, absent, behind, cas, lease, outlive`,
		"seed=-1":                      `line 1, column 6: "-1" is not a seed; write a whole number of at least 0`,
		"chunk=0":                      `line 1, column 7: "0" is not a number of bytes; write a whole number of at least 1`,
		"refuse=get":                   `line 1, column 8: unknown value of refuse: "get"; use one of local`,
		"mode=http2":                   `line 1, column 6: unknown value of mode: "http2"; use one of garbage, http1, silent`,
		"delay=1ms; # fine\nclose@3m3": `line 2, column 7: "3m3" is not a duration; write for example 250us, 1ms or 1.5s`,
	} {
		_, err := Parse(text, []string{"unavailable", "no_leader"})
		if err == nil || err.Error() != "script, "+want {
			t.Errorf("%q:\n got %v\nwant script, %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("delay=uniform(1ms,5ms) every 3; stall=1s@4s # c\nclose@2s;chunk=3/1us;error=unavailable every 9")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text, []string{"unavailable"})
		if err != nil {
			return
		}
		if at := s.Decide(1, 1, time.Second).At; at < time.Second {
			t.Errorf("with the script %q, the response is due %s before the arrival", text, time.Second-at)
		}
		s.DecideEvent(1)
	})
}
