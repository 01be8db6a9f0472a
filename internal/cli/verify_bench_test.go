//go:build linux

package cli

import (
	"fmt"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
)

// BenchmarkVerificationCost compares two kinds of local etcd reads in pairs: reads whose responses
// are not recorded (first trial) and reads whose responses are recorded for verification (second
// trial). It compares the load generator's CPU time and the throughputs.
func BenchmarkVerificationCost(b *testing.B) {
	f := &fleet{b: b}
	load := fmt.Sprintf("operation: get, consistency: local, endpoints: [%s], connections: 100, clients: 1000, duration: 4s", embedded.Etcd(b))
	b.ResetTimer()
	for range b.N {
		got := f.pairs(8, load, load+", verify: true", map[string]func(string, *record.Trial) float64{
			"cpu":        func(_ string, t *record.Trial) float64 { return *t.CPUPerOp },
			"throughput": func(_ string, t *record.Trial) float64 { return t.PerSecond },
		})
		ratio(b, "cpu", got["cpu"])
		ratio(b, "throughput", got["throughput"])
	}
}
