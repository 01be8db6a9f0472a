//go:build linux

package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testservers/embedded"
)

// BenchmarkRecordingCost sends a real etcd shares of what it takes, straight (one) and
// through a relay that records (other), in pairs: how much of it goes through, what
// the relay adds to the median and to p99, and the processor time that it takes for a
// call. What a relay takes that does nothing but io.Copy both ways is beside it.
func BenchmarkRecordingCost(b *testing.B) {
	f := &fleet{b: b}
	endpoint := embedded.Etcd(b)
	mix := "mix: [{operation: get, consistency: local, weight: 70}, {operation: put, weight: 30}], connections: 10, value-size: 256"
	run, _, _ := f.run(fmt.Sprintf("trials:\n- {name: most, store: etcd, endpoints: [%s], %s, clients: 100, duration: 4s, warmup: 1s, key-space: 1000}\n", endpoint, mix))
	for _, percent := range []int{10, 20, 30, 50} {
		rate := int(run.Trials[0].PerSecond) * percent / 100
		b.Run(fmt.Sprintf("share=%d%%", percent), func(b *testing.B) {
			for range b.N {
				load := fmt.Sprintf("%s, rate: %d, duration: 4s, endpoints: ", mix, rate)
				recordingCost(b, endpoint, load)
				copyingCost(b, endpoint, load)
			}
			b.ReportMetric(float64(rate), "rate")
		})
	}
}

// recordingCost reports what the relay costs one load, which lacks its endpoints.
func recordingCost(b *testing.B, endpoint, load string) {
	f := &fleet{b: b}
	path := filepath.Join(b.TempDir(), "a.qbrec")
	relay, process, err := startProcess(b.TempDir(), "record", "--listen", "127.0.0.1:0", "--to", endpoint, "--out", path)
	if err != nil {
		b.Fatal(err)
	}
	got := f.pairs(8, load+"["+endpoint+"]", load+"["+relay+"]", map[string]func(string, *record.Trial) float64{
		"throughput": func(_ string, t *record.Trial) float64 { return t.PerSecond },
		"p50":        func(_ string, t *record.Trial) float64 { return t.ResponseTime.At(50).NS / 1e3 },
		"p99":        func(_ string, t *record.Trial) float64 { return t.ResponseTime.At(99).NS / 1e3 },
	})
	if err := interrupt(process); err != nil {
		b.Error(err)
	}
	calls := 0
	_, problem, err := recording.Each(path, func(r recording.Record) error {
		if r.Call != nil {
			calls++
		} else {
			b.Errorf("it is not all recorded: %+v", r.Gap)
		}
		return nil
	})
	if err != nil || problem != "" {
		b.Fatal(err, problem)
	}
	b.ReportMetric(microseconds(process)/float64(calls), "relay-cpu-us/call")
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
}

// copyingCost reports what copying costs the same load.
func copyingCost(b *testing.B, endpoint, load string) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), copyTo+"="+endpoint)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		f := &fleet{b: b}
		run, _, _ := f.run(fmt.Sprintf("defaults: {store: etcd, repeats: 2, warmup: 0s, key-space: 1000, preload: false}\ntrials:\n- {name: copied, %s[%s]}\n", load, strings.TrimSpace(line)))
		calls := uint64(0)
		for i := range run.Trials {
			calls += run.Trials[i].Operations
		}
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		b.ReportMetric(microseconds(c)/float64(calls), "copy-cpu-us/call")
		return
	}
	_ = c.Process.Kill()
	b.Fatal(err)
}

// microseconds is the processor time of a process that has ended.
func microseconds(c *exec.Cmd) float64 {
	return float64((c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Nanoseconds()) / 1e3
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
