package profile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/profile"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// drawn returns a random number up to `most`. All magnitudes are about equally likely, and the
// extremes are frequent.
func drawn(r *rand.Rand, most int64) int64 {
	switch r.IntN(4) {
	case 0:
		return most
	case 1:
		return r.Int64N(3)
	}
	return min(int64(math.Exp(r.Float64()*math.Log(float64(most)))), most)
}

// TestEveryProfileIsAValidScenario generates recordings with numbers of any magnitude and checks
// that the scenario parser accepts their profiles.
func TestEveryProfileIsAValidScenario(t *testing.T) {
	settle.SkipUnderRace(t)
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 32))
		st := []string{"etcd", "zookeeper", "consul", "etcdv2"}[r.IntN(4)]
		path := filepath.Join(t.TempDir(), "a.qbrec")
		w, err := call.CreateRecording(path, &call.Header{Store: st, Started: time.Unix(r.Int64N(1<<37), 0), Plain: r.IntN(2) == 0})
		if err != nil {
			t.Fatal(err)
		}
		longest := drawn(r, int64(scenario.MaxDuration))
		size, keys := drawn(r, math.MaxInt32), 1+drawn(r, 1<<40)
		for i := range 1 + drawn(r, 3000) {
			c := &call.Call{
				At: r.Int64N(longest + 1), Duration: drawn(r, math.MaxInt64/8) - 1, Conn: uint32(1 + drawn(r, math.MaxUint32-1)), KeyCount: drawn(r, math.MaxInt64),
				Method: fmt.Sprintf("Method%d\n- trials:", drawn(r, 1<<30)),
				Parts:  []call.Part{{Key: []byte(strings.Repeat("k", int(drawn(r, 3000))) + fmt.Sprint(r.Int64N(keys)))}},
			}
			if p := &c.Parts[0]; r.IntN(2) == 0 {
				p.Action, p.Value.Size = call.Write, int(min(drawn(r, size), size))
				c.Guarded = r.IntN(5) == 0
				for st == "etcd" && r.IntN(5) == 0 && len(c.Parts) < 300 {
					p.Branch, c.Guarded = call.Then, false
					c.Parts = append(c.Parts, c.Parts...)
				}
			} else if r.IntN(2) == 0 {
				p.Flags = call.Local
			}
			w.Call(c)
			if r.IntN(3) == 0 {
				w.Gap(call.Gap{At: c.At, Conn: c.Conn, MissingCalls: uint64(drawn(r, math.MaxInt64)), Reason: fmt.Sprintf("%s %d: %s", "a client at\n", i, strings.Repeat("x", int(drawn(r, 4000))))})
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Read(path)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		text := strings.Join(p.Lines(), "\n")
		if _, err := scenario.Parse("recorded.yaml", []byte(text), registry.Catalog{}, scenario.Options{}); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
	}
}

// TestGapsAreCountedByReason checks that thousands of gaps, for example from a flood of
// connections, add only a few lines to the profile, and that every gap is counted.
func TestGapsAreCountedByReason(t *testing.T) {
	var gaps []call.Gap
	for i := range 3000 {
		gaps = append(gaps, call.Gap{At: int64(i) * 1e6, Conn: uint32(i + 2), MissingCalls: 2, Reason: "a"})
		gaps = append(gaps, call.Gap{At: int64(i) * 1e6, Conn: uint32(i + 2), Reason: fmt.Sprint("separate reason ", i)})
	}
	p, err := profile.Read(write(t, []*call.Call{put(0, "/a", 1)}, gaps...))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(p.Lines(), "\n")
	for _, want := range []string{"# Missing since 0s: 6,000 calls (a; also 2,999 later gaps).\n", "# Missing for other reasons: 2,969 gaps.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the profile lacks %q:\n%s", want, text)
		}
	}
}

// TestManyKeysAreEstimated records more keys than a profile stores. It checks the estimates of the
// number of keys and of the share of calls that used the hottest keys.
func TestManyKeysAreEstimated(t *testing.T) {
	settle.SkipUnderRace(t)
	const n = 3 << 19
	w, path := many(t, n)
	for i := range n {
		w(put(int64(i), fmt.Sprint(i), 10))
	}
	p, err := profile.Read(path())
	if err != nil || !p.KeysEstimated || math.Abs(float64(p.DistinctKeys)/n-1) > 0.01 || math.Abs(p.HotShare-0.2) > 0.01 {
		t.Errorf("%v: the profile estimates %d of %d keys, and the busiest keys have the share %v", err, p.DistinctKeys, n, p.HotShare)
	}
}

// many creates a recording and returns functions that write it call by call, so that the whole
// recording is never in memory.
func many(t *testing.T, n int) (request func(*call.Call), done func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "many.qbrec")
	w, err := call.CreateRecording(path, &call.Header{Store: "etcd", Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	request = func(c *call.Call) {
		for missed := w.Counts().Missed; ; {
			w.Call(c)
			if now := w.Counts().Missed; now > missed {
				missed = now
				continue
			}
			return
		}
	}
	return request, func() string {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
}
