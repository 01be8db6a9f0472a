package disks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/analyze/preflight"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// runsEnv is the environment variable that sets the number of simulated measurements of each disk.
const runsEnv = "QUORUMBENCH_STATS_RUNS"

// sampleRuns is the number of measurements in CI. documentedRuns is the number of measurements in
// `make test-long`; docs/reference/limits.md contains the resulting rates.
const (
	sampleRuns     = 50
	documentedRuns = 1000
)

// runs returns the number of measurements of each disk.
func runs(t *testing.T) int {
	t.Helper()
	text := os.Getenv(runsEnv)
	if text == "" {
		return sampleRuns
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 50 {
		t.Fatalf("%s is %q, want a number of at least 50", runsEnv, text)
	}
	return min(n, documentedRuns)
}

var (
	etcdRule   = kv.DiskRule{Percentile: 99, Limit: 10 * time.Millisecond}
	consulRule = kv.DiskRule{Percentile: 100, Limit: 500 * time.Millisecond}
)

// counted contains the results of many measurements of a kind of disk.
type counted struct {
	states  [preflight.Fail + 1]int
	seconds int // of all measurements that were decided
	decided int
}

// measured measures n disks and counts the results. The hosts argument is the number of hosts that
// are checked at the same time.
func measured(disk func(*rand.Rand) func(time.Duration) time.Duration, rule kv.DiskRule, n, hosts int, seed uint64) (c counted) {
	w := probe.PacedWrites{Sizes: []int{2300, 4120}, Interval: 20 * time.Millisecond, Duration: 5 * time.Minute}
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		var m Measurement
		state := preflight.CannotTell
		m.Measure(disk(r), w, func(w *preflight.Writes) bool {
			if len(w.Seconds)%preflight.SecondsPerDecision != 0 {
				return false
			}
			state = w.Decide(rule, 0, hosts).State
			return state != preflight.CannotTell
		})
		c.states[state]++
		if state != preflight.CannotTell {
			c.decided++
			c.seconds += len(m.Writes.Seconds)
		}
	}
	return c
}

// atMost fails the test if hits / total exceeds the limit. If there are fewer than documentedRuns
// measurements, it allows an additional three standard errors.
func atMost(t *testing.T, what string, hits, total int, limit float64) {
	t.Helper()
	slack := 0.0
	if total < documentedRuns {
		slack = 3 * math.Sqrt(limit*(1-limit)/float64(total))
	}
	if share := float64(hits) / float64(total); share > limit+slack {
		t.Errorf("%s: the share is %.3f of %d, want at most %v", what, share, total, limit)
	}
}

func percent(hits, total int) string {
	return fmt.Sprintf("%.1f %%", 100*float64(hits)/float64(total))
}

// Good disks rarely fail, and bad disks rarely pass. The logged table also contains the share of
// measurements that lead to no verdict within five minutes.
func TestDisksAreRarelyJudgedWrongly(t *testing.T) {
	settle.SkipUnderRace(t)
	n := runs(t)
	var doc strings.Builder
	doc.WriteString("| disk | is | PASS | FAIL | CANNOT TELL YET | mean time to decide |\n|---|---|---:|---:|---:|---:|\n")
	row := func(name string, bad bool, c counted) {
		word := "good"
		if bad {
			word = "bad"
			atMost(t, name+": misses", c.states[preflight.Pass], n, preflight.Misses)
		} else {
			atMost(t, name+": false alarms", c.states[preflight.Fail], n, preflight.FalseAlarms)
		}
		mean := "-"
		if c.decided > 0 {
			mean = fmt.Sprintf("%d s", c.seconds/c.decided)
		}
		fmt.Fprintf(&doc, "| %s | %s | %s | %s | %s | %s |\n", name, word, percent(c.states[preflight.Pass], n), percent(c.states[preflight.Fail], n), percent(c.states[preflight.CannotTell], n), mean)
	}
	for k, d := range Simulated() {
		row(d.Name, d.Bad, measured(d.New, etcdRule, n, 1, uint64(k)))
	}
	row("steady, fast enough, with four other hosts", false, measured(Simulated()[1].New, etcdRule, n, 5, 100))
	row("bimodal: 20 to 60 ms for 5 s every 60 s, with four other hosts", true, measured(Simulated()[8].New, etcdRule, n, 5, 101))
	row("Consul: one stall above 0.5 s per hour", false, measured(Stalling(time.Hour), consulRule, n, 1, 102))
	row("Consul: one stall above 0.5 s per 40 s", true, measured(Stalling(40*time.Second), consulRule, n, 1, 103))
	recorded, err := Recorded()
	if err != nil || len(recorded) < 3 {
		t.Fatalf("%d recordings: %v", len(recorded), err)
	}
	for k, d := range recorded {
		row(d.Name, d.Bad, measured(d.New, etcdRule, n, 1, uint64(200+k)))
	}
	t.Logf("\n%s", &doc)
	if n != documentedRuns || runtime.GOARCH != "amd64" {
		return
	}
	text, err := os.ReadFile("../../../docs/reference/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), doc.String()) {
		t.Errorf("docs/reference/limits.md does not have this table:\n%s", &doc)
	}
}
