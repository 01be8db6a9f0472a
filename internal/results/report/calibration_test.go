package report

import (
	"bytes"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

func TestCalibration(t *testing.T) {
	p99 := int64(900_000)
	c := &record.Calibration{
		Schema: record.CalibrationSchema, Measured: noon, Tool: record.Tool{Version: "v1", Go: "go1"},
		Machine: measure.Machine{Name: "vm", System: "linux", Kernel: "6.1", Architecture: "amd64", CPU: "X", CPUs: 2, MemoryBytes: 1 << 30},
		Rounds:  3, Store: "s",
		Generator: record.GeneratorLimits{
			ServiceP50NS: record.SummarizeRounds(30_000, 20_000, 25_000), ClosedPerSecond: record.SummarizeRounds(1e5, 2e5, 3e5), CPUPerOpNS: record.SummarizeRounds(800),
			OpenRate: 2000, LateP99NS: record.SummarizeRounds(90_000, 60_000),
		},
		WakeDelays: record.WakeDelay{P50NS: record.SummarizeRounds(10_000, 20_000, 30_000), Count: 3000},
		Disk:       &record.DataDir{Path: "/d\x1b", Durability: measure.Durability{FdatasyncP50NS: 100_000, FdatasyncP99NS: &p99, Fdatasyncs: 1000, FileSystem: "tmpfs", Volatile: true}},
		RoundTrips: []record.RoundTrip{{Address: "loopback", LowestNS: 10_000, P50NS: record.SummarizeRounds(11_000), Count: 20}, {Address: "10.0.0.1:2379", LowestNS: 1e6, P50NS: record.SummarizeRounds(2e6, 3e6), Count: 40}},
	}
	var b bytes.Buffer
	if err := Text(&b, Calibration(c), true); err != nil {
		t.Fatal(err)
	}
	golden(t, "calibration.txt", b.String())
	b.Reset()
	if err := JSON(&b, Calibration(c)); err != nil {
		t.Fatal(err)
	}
	if back, err := record.ParseCalibration(b.Bytes()); err != nil || back.Generator.ServiceP50NS.Median != 25_000 {
		t.Errorf("the JSON of the calibration reads back as %+v, %v", back, err)
	}
	if err := Text(&b, Calibration(&record.Calibration{}), true); err != nil { // nothing is known
		t.Error(err)
	}
}
