package profile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/profile"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

func write(t *testing.T, calls []*call.Call, gaps ...call.Gap) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.qbrec")
	w, err := call.CreateRecording(path, &call.Header{Store: "etcd", Started: time.Unix(0, 0), Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		w.Call(c)
	}
	for _, g := range gaps {
		w.Gap(g)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// The distribution takes into account that a fifth of a few keys is rounded up.
func TestDistributionOfFewKeys(t *testing.T) {
	for name, c := range map[string]struct {
		uses []int // by key
		want string
	}{
		"one key":       {[]int{9}, "distribution: uniform # the most used 100 % of the keys received 100 % of the calls"},
		"equal use":     {[]int{10, 10, 10, 10}, "distribution: uniform # the most used 25 % of the keys received 25 % of the calls"},
		"one hot key":   {[]int{98, 1, 1}, "distribution: {name: hotspot, hot-keys: 0.2, hot-operations: 0.98}"},
		"seven keys":    {[]int{10, 10, 10, 10, 10, 10, 10}, "distribution: uniform # the most used 29 % of the keys received 29 % of the calls"},
		"no single key": {nil, "distribution: uniform"},
	} {
		calls := []*call.Call{{At: 1, Duration: 1000, Conn: 1, Method: "KV/Range", Parts: []call.Part{{Action: call.Read, Scope: call.Prefix, Key: []byte("/")}}}}
		for key, n := range c.uses {
			for range n {
				calls = append(calls, put(1, fmt.Sprintf("/key/%d", key), 10))
			}
		}
		p, err := profile.Read(write(t, calls))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Contains(p.Lines(), "    "+c.want) {
			t.Errorf("%s: the scenario lacks the line %q:\n%s", name, c.want, strings.Join(p.Lines(), "\n"))
		}
	}
}

func put(at int64, key string, size int) *call.Call {
	return &call.Call{At: at, Duration: 1000, Conn: 1, Method: "KV/Put", Parts: []call.Part{
		{Action: call.Write, Key: []byte(key), Value: call.Value{Size: size}}}}
}

// TestFiguresMatchTheCalls generates recordings with known figures and with calls in random order.
// It checks the profiles of these recordings.
func TestFiguresMatchTheCalls(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2))
		n, keys := 50+r.IntN(2000), 5*(1+r.IntN(40))
		step := 1 + r.Int64N(int64(20*time.Millisecond))
		var calls []*call.Call
		uses, sizes := make([]int, keys), []int{}
		reads := 0
		for i := range n {
			key := i
			if i >= keys { // use every key once, and then some keys more often than others
				key = min(r.IntN(keys), r.IntN(keys))
			}
			key %= keys
			uses[key]++
			size := r.IntN(1000)
			c := put(int64(i)*step, fmt.Sprintf("/key/%d", key), size)
			if r.IntN(3) == 0 {
				reads++
				c.Method, c.Parts[0].Action, c.Parts[0].Value = "KV/Range", call.Read, call.Value{}
				c.Parts[0].Flags = call.Local
			} else {
				sizes = append(sizes, size)
			}
			calls = append(calls, c)
		}
		r.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		p, err := profile.Read(write(t, calls))
		if err != nil {
			t.Fatal(err)
		}
		used := 0
		for _, u := range uses {
			if u > 0 {
				used++
			}
		}
		slices.Sort(uses)
		busy := 0
		for _, u := range uses[len(uses)-int(math.Ceil(0.2*float64(used))):] {
			busy += u
		}
		slices.Sort(sizes)
		rate := float64(n) / (float64(int64(n-1)*step) / 1e9)
		switch {
		case p.Calls() != uint64(n), p.DistinctKeys != used, p.Connections != 1:
			t.Fatalf("seed %d: the profile has %d calls of %d keys, want %d of %d", seed, p.Calls(), p.DistinctKeys, n, used)
		case math.Abs(p.PerSecond()/rate-1) > 1e-9:
			t.Fatalf("seed %d: the rate is %v a second, want %v", seed, p.PerSecond(), rate)
		case math.Abs(p.HotShare-float64(busy)/float64(n)) > 1e-9:
			t.Fatalf("seed %d: the busiest keys have the share %v, want %d of %d calls", seed, p.HotShare, busy, n)
		case p.ValueSize.Percentile(50) != int64(sizes[len(sizes)/2]), p.ValueSize.Percentile(100) != int64(sizes[len(sizes)-1]):
			t.Fatalf("seed %d: the median size is %d, the largest is %d", seed, p.ValueSize.Percentile(50), p.ValueSize.Percentile(100))
		}
		for _, o := range p.Operations {
			if o.Kind == kv.Get && (o.Level != kv.Local || o.Calls != uint64(reads)) {
				t.Fatalf("seed %d: the reads are %+v, want %d calls", seed, o, reads)
			}
		}
	}
}

func TestFactsBeyondScenariosAreNoted(t *testing.T) {
	_, err := profile.Read(write(t, []*call.Call{{Method: "Maintenance/Status", Parts: []call.Part{{Action: call.OtherAction}}}}))
	if err == nil || !strings.Contains(err.Error(), "a scenario cannot contain any of the recorded calls") {
		t.Error(err)
	}
	guarded := &call.Call{Duration: 5, Conn: 1, Method: "KV/Txn", Guarded: true, GuardsHeld: true, Parts: []call.Part{{Action: call.Compare, Key: []byte("/a")},
		{Action: call.Write, Branch: call.Then, Key: []byte("/a")}}}
	p, err := profile.Read(write(t, []*call.Call{guarded}))
	if err != nil || p.GuardsHeld != 1 || p.Operations[0].Kind != kv.CAS || !strings.Contains(strings.Join(p.Lines(), "\n"), "# The guard held in 1 of 1 guarded transaction.") {
		t.Errorf("%v, %+v", err, p)
	}
}

// TestFewCallsHaveNoPercentiles checks that a percentile is omitted if too few calls are slower
// than this percentile, and that calls without a response have no times.
func TestFewCallsHaveNoPercentiles(t *testing.T) {
	var calls []*call.Call
	for i := range int64(30) {
		calls = append(calls, put(i*1e6, "/a", 10))
		calls = append(calls, &call.Call{At: i * 1e6, Duration: -1, Conn: 1, Method: "KV/Range", Parts: []call.Part{{Action: call.Read, Key: []byte("/a")}}})
	}
	p, err := profile.Read(write(t, calls, call.Gap{At: 5e6, Conn: 1, MissingCalls: 2, Reason: "a"}, call.Gap{At: 6e6, Conn: 2, Reason: "b"}, call.Gap{At: 7e6, Reason: "c"}))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(p.Lines(), "\n")
	for _, want := range []string{
		`#   KV/Put +30 +\d+ +1\.0\d µs +- +0 +0\n`, `#   KV/Range +30 +\d+ +- +- +0 +30\n`,
		`# Missing since 5ms: 2 calls \(a\)\.\n`, `# Missing since 6ms: all later data of this connection \(b\)\.\n`, `# Missing since 7ms: an unknown number of calls \(c\)\.\n`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the profile has no match for %s:\n%s", want, text)
		}
	}
}
