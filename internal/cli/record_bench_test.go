//go:build linux

package cli

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testservers/embedded"
)

// BenchmarkRecordingCost sends a real etcd half of what it takes, straight (one) and
// through a relay that records (other), in pairs: how much of it goes through, and what
// the relay adds to the median and to p99.
func BenchmarkRecordingCost(b *testing.B) {
	f := &fleet{b: b}
	endpoint := embedded.Etcd(b)
	mix := "mix: [{operation: get, consistency: local, weight: 70}, {operation: put, weight: 30}], connections: 10, value-size: 256"
	run, _, _ := f.run(fmt.Sprintf("trials:\n- {name: most, store: etcd, endpoints: [%s], %s, clients: 100, duration: 4s, warmup: 1s, key-space: 1000}\n", endpoint, mix))
	rate := int(run.Trials[0].PerSecond / 2)
	relay, stop, err := startServing(b.TempDir(), "record", "--listen", "127.0.0.1:0", "--to", endpoint, "--out", filepath.Join(b.TempDir(), "a.qbrec"))
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		load := fmt.Sprintf("%s, rate: %d, duration: 4s, endpoints: ", mix, rate)
		got := f.pairs(8, load+"["+endpoint+"]", load+"["+relay+"]", map[string]func(string, *record.Trial) float64{
			"throughput": func(_ string, t *record.Trial) float64 { return t.PerSecond },
			"p50":        func(_ string, t *record.Trial) float64 { return t.ResponseTime.At(50).NS / 1e3 },
			"p99":        func(_ string, t *record.Trial) float64 { return t.ResponseTime.At(99).NS / 1e3 },
		})
		ratio(b, "throughput", got["throughput"])
		for _, name := range []string{"p50", "p99"} {
			var more []float64
			for i, direct := range got[name][0] {
				more = append(more, got[name][1][i]-direct)
			}
			slices.Sort(more)
			b.ReportMetric(more[len(more)/2], name+"-more-us")
			b.Logf("%s in µs: straight %.5g, through the relay %.5g", name, got[name][0], got[name][1])
		}
		b.ReportMetric(float64(rate), "rate")
	}
	b.StopTimer()
	if err := stop(); err != nil {
		b.Error(err)
	}
}

// BenchmarkReplayTiming records 1,000 operations a second against a real etcd, and sends
// them again to it: by how much the times between calls are other than recorded, and how
// many guards hold again.
func BenchmarkReplayTiming(b *testing.B) {
	f := &fleet{b: b}
	endpoint := embedded.Etcd(b)
	path := filepath.Join(b.TempDir(), "a.qbrec")
	relay, stop, err := startServing(b.TempDir(), "record", "--listen", "127.0.0.1:0", "--to", endpoint, "--out", path)
	if err != nil {
		b.Fatal(err)
	}
	f.run(fmt.Sprintf("trials:\n- {name: recorded, store: etcd, endpoints: [%s], mix: [{operation: get, consistency: linearizable, weight: 50}, {operation: put, weight: 20}, {operation: cas, weight: 30}], "+
		"connections: 10, rate: 1000, duration: 10s, warmup: 0s, key-space: 1000, preload: false}\n", relay))
	if err := stop(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		dir := filepath.Join(b.TempDir(), "again")
		said, err := exec.Command("quorumbench", "replay", path, "--endpoints", endpoint, "--out", dir).CombinedOutput()
		b.Logf("%s", said)
		if err != nil {
			b.Fatal(err)
		}
		run, err := record.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		r := run.Trials[0].Replay
		b.ReportMetric(float64(r.InterArrival.P50)/1e3, "gap-off-p50-us")
		b.ReportMetric(float64(r.InterArrival.P99)/1e3, "gap-off-p99-us")
		b.ReportMetric(float64(r.InterArrival.Max)/1e3, "gap-off-max-us")
		b.ReportMetric(float64(r.HeldAgain)/float64(max(r.Held, 1)), "held-again")
	}
}
