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

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
)

// BenchmarkRecordingCost loads etcd at several shares of its maximum rate. It compares, in pairs,
// trials that are not recorded with trials that a capture or a relay records. It reports the ratio
// of throughputs, the time that recording adds to p50 and p99, and the recorder's CPU time per
// call. For comparison, it also reports the CPU time of a relay that only calls io.Copy in both
// directions.
func BenchmarkRecordingCost(b *testing.B) {
	f := &fleet{b: b}
	endpoint := embedded.Etcd(b)
	mix := "mix: [{operation: get, consistency: local, weight: 70}, {operation: put, weight: 30}], connections: 10, value-size: 256"
	run, _, _ := f.run(fmt.Sprintf("trials:\n- {name: most, store: etcd, endpoints: [%s], %s, clients: 100, duration: 4s, warmup: 1s, key-space: 1000}\n", endpoint, mix))
	for _, percent := range []int{10, 20, 30, 50} {
		rate := int(run.Trials[0].PerSecond) * percent / 100
		load := fmt.Sprintf("%s, rate: %d, duration: 4s, endpoints: ", mix, rate)
		b.Run(fmt.Sprintf("relay/share=%d%%", percent), func(b *testing.B) {
			for range b.N {
				relayingCost(b, endpoint, load)
				copyingCost(b, endpoint, load)
			}
			b.ReportMetric(float64(rate), "rate")
		})
		b.Run(fmt.Sprintf("capture/share=%d%%", percent), func(b *testing.B) {
			for range b.N {
				capturingCost(b, endpoint, load)
			}
			b.ReportMetric(float64(rate), "rate")
		})
	}
}

// recordingFigures contains the figures that recording may change.
var recordingFigures = map[string]func(string, *record.Trial) float64{
	"throughput": func(_ string, t *record.Trial) float64 { return t.PerSecond },
	"p50":        func(_ string, t *record.Trial) float64 { return t.ResponseTime.Percentile(50).NS / 1e3 },
	"p99":        func(_ string, t *record.Trial) float64 { return t.ResponseTime.Percentile(99).NS / 1e3 },
}

// recordingPairs is the number of compared pairs.
const recordingPairs = 8

// relayingCost reports the relay's cost for a load. The text in load lacks the list of endpoints at
// its end; relayingCost appends this list.
func relayingCost(b *testing.B, endpoint, load string) {
	f := &fleet{b: b}
	path := filepath.Join(b.TempDir(), "a.qbrec")
	relay, process, err := startProcess(b.TempDir(), "traffic", "record", "--listen", "127.0.0.1:0", "--to", endpoint, "--out", path)
	if err != nil {
		b.Fatal(err)
	}
	got := f.pairs(recordingPairs, load+"["+endpoint+"]", load+"["+relay+"]", recordingFigures)
	if err := interrupt(process); err != nil {
		b.Error(err)
	}
	costs(b, got, microseconds(process), recordedCalls(b, path))
}

// capturingCost reports the cost of a capture for the same load. In every second pair, the captured
// trial runs first.
func capturingCost(b *testing.B, endpoint, load string) {
	f := &fleet{b: b}
	got := map[string][2][]float64{}
	var spent float64
	var calls int
	trial := func(side int) {
		run, dir, _ := f.run(fmt.Sprintf("trials:\n- {name: one, store: etcd, warmup: 1s, key-space: 1000, %s[%s]}\n", load, endpoint))
		for name, of := range recordingFigures {
			both := got[name]
			both[side] = append(both[side], of(dir, &run.Trials[0]))
			got[name] = both
		}
	}
	captured := func() {
		path := filepath.Join(b.TempDir(), "a.qbrec")
		_, process, err := startProcess(b.TempDir(), "traffic", "record", "--capture", endpoint, "--out", path)
		if err != nil {
			b.Fatal(err)
		}
		trial(1)
		if err := interrupt(process); err != nil {
			b.Error(err)
		}
		spent += microseconds(process)
		calls += recordedCalls(b, path)
	}
	for i := range recordingPairs {
		if i%2 == 1 {
			captured()
			trial(0)
		} else {
			trial(0)
			captured()
		}
	}
	costs(b, got, spent, calls)
}

// recordedCalls returns the number of calls in a recording. The recording must be complete except
// for the HTTP/1.1 connections on which quorumbench reads the member's metrics.
func recordedCalls(b *testing.B, path string) (calls int) {
	_, problem, err := call.ReadRecording(path, func(r call.Record) error {
		if r.Call != nil {
			calls++
		} else if !strings.Contains(r.Gap.Reason, "does not speak HTTP/2") {
			b.Errorf("the recording has a gap: %+v", r.Gap)
		}
		return nil
	})
	if err != nil || problem != "" {
		b.Fatal(err, problem)
	}
	return calls
}

// costs reports the cost of recording. calls is the number of recorded calls, and spent is the
// recorder's CPU time in microseconds.
func costs(b *testing.B, got map[string][2][]float64, spent float64, calls int) {
	b.ReportMetric(spent/float64(calls), "recorder-cpu-us/call")
	ratio(b, "throughput", got["throughput"])
	for _, name := range []string{"p50", "p99"} {
		var more []float64
		for i, direct := range got[name][0] {
			more = append(more, got[name][1][i]-direct)
		}
		slices.Sort(more)
		b.ReportMetric(more[len(more)/2], name+"-more-us")
		b.Logf("%s in µs: %.5g without recording, %.5g with recording, the difference is %.5g", name, got[name][0], got[name][1], more)
	}
}

// copyingCost reports the CPU time of a relay that only copies bytes, for the same load.
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
		_ = c.Wait() // the relay was killed, so Wait returns an error
		b.ReportMetric(microseconds(c)/float64(calls), "copy-cpu-us/call")
		return
	}
	_ = c.Process.Kill()
	b.Fatal(err)
}

// microseconds returns the CPU time, in microseconds, of a process that has ended.
func microseconds(c *exec.Cmd) float64 {
	return float64((c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Nanoseconds()) / 1e3
}

// BenchmarkReplayTiming records 1,000 operations per second against etcd, and replays them against
// the same cluster. It reports how much the times between calls differ from the recorded times, and
// the share of guards (conditions in recorded transactions) that hold again.
func BenchmarkReplayTiming(b *testing.B) {
	f := &fleet{b: b}
	endpoint := embedded.Etcd(b)
	path := filepath.Join(b.TempDir(), "a.qbrec")
	relay, stop, err := startServing(b.TempDir(), "traffic", "record", "--listen", "127.0.0.1:0", "--to", endpoint, "--out", path)
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
		said, err := exec.Command("quorumbench", "traffic", "replay", path, "--endpoints", endpoint, "--out", dir).CombinedOutput()
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
		b.ReportMetric(float64(r.HeldInBoth)/float64(max(r.HeldInRecording, 1)), "held-again")
	}
}
