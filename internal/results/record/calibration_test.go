package record

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

func calibration() *Calibration {
	p99 := int64(900_000)
	return &Calibration{
		Schema: CalibrationSchema, Measured: noon.UTC(), Tool: Tool{Version: "v1", Revision: "abc", Go: "go1"},
		Machine: measure.Machine{Name: "vm", System: "linux", Kernel: "6.1", Architecture: "amd64", CPU: "X", CPUs: 2, MemoryBytes: 1 << 30},
		Rounds:  3, Store: "s",
		Generator:  GeneratorLimits{ServiceP50NS: SummarizeRounds(30_000, 20_000, 25_000), ClosedPerSecond: SummarizeRounds(1e5, 2e5, 3e5), OpenRate: 2000},
		WakeDelays: WakeDelay{P50NS: SummarizeRounds(1, 2, 3), Count: 3000},
		Disk:       &DataDir{Path: "/d", Durability: measure.Durability{FdatasyncP50NS: 100_000, FdatasyncP99NS: &p99, Fdatasyncs: 1000, FileSystem: "ext4"}},
		RoundTrips: []RoundTrip{
			{Address: "loopback", LowestNS: 10, P50NS: SummarizeRounds(11), Count: 20},
		},
	}
}

// The summary of rounds does not depend on the order of the values, and scales with their unit. At
// least half of the values are not above the median, and at least half are not below it.
func TestRoundsSummaryProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		values := make([]float64, 1+rng.IntN(9))
		for i := range values {
			values[i] = math.Floor(math.Exp(3 * rng.NormFloat64()))
		}
		s := SummarizeRounds(values...)
		if s.Lowest != slices.Min(values) || s.Highest != slices.Max(values) || !s.isConsistent() {
			t.Fatalf("%v: %+v", values, s)
		}
		below, above := 0, 0
		for _, v := range values {
			if v <= s.Median {
				below++
			}
			if v >= s.Median {
				above++
			}
		}
		if 2*below < len(values) || 2*above < len(values) {
			t.Errorf("the median of %v is %g", values, s.Median)
		}
		shuffled, scaled := slices.Clone(values), make([]float64, len(values))
		rng.Shuffle(len(values), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for i, v := range values {
			scaled[i] = 8 * v
		}
		if got := SummarizeRounds(shuffled...); *got != *s {
			t.Errorf("with the values in another order, the figure is %+v, want %+v", got, s)
		}
		if got := SummarizeRounds(scaled...); *got != (RoundsSummary{8 * s.Median, 8 * s.Lowest, 8 * s.Highest}) {
			t.Errorf("for values 8 times as large the figure is %+v, not 8 times %+v", got, s)
		}
	}
	a, b := SummarizeRounds(2, 5), SummarizeRounds(1, 3)
	if low, high, ok := RangeOfRounds(nil, a, b); low != 1 || high != 5 || !ok {
		t.Errorf("the range over all figures is %g to %g, want 1 to 5", low, high)
	}
	if _, _, ok := RangeOfRounds(nil, nil); ok {
		t.Error("RangeOfRounds returns a range without any figure")
	}
	for _, none := range [][]float64{nil, {-1, 2}, {1, math.NaN()}, {math.Inf(1)}, {math.Inf(-1), 1}} {
		if s := SummarizeRounds(none...); s != nil {
			t.Errorf("%v: %+v", none, s)
		}
	}
}

// The range from the lowest to the highest of n rounds contains the true median as often as
// documented: with probability 1 - 2^(1-n).
func TestRoundsSummaryContainsTheTrueMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const cases = 20_000
	for n := 2; n <= 7; n++ {
		held := 0
		for range cases {
			values := make([]float64, n)
			for i := range values { // the distribution has two peaks, because no distribution may be assumed
				if values[i] = math.Exp(rng.NormFloat64()); rng.IntN(2) == 0 {
					values[i] = 100 + rng.ExpFloat64()
				}
			}
			s := SummarizeRounds(values...)
			const truth = 50 // above almost all values of the first peak, and below all values of the second peak
			if s.Lowest <= truth && truth <= s.Highest {
				held++
			}
		}
		p := 1 - math.Pow(2, float64(1-n))
		if got, off := float64(held)/cases, 5*math.Sqrt(p*(1-p)/cases); math.Abs(got-p) > off {
			t.Errorf("%d rounds contain the true median in %.4f of all cases, not %.4f", n, got, p)
		}
	}
}

func TestCalibrationIsWrittenAndRead(t *testing.T) {
	c := calibration()
	path := CalibrationFile(t.TempDir(), &c.Machine)
	if none, err := ReadCalibration(path); none != nil || err != nil {
		t.Errorf("ReadCalibration returns %v, %v before a calibration was written", none, err)
	}
	must(t, c.Write(path))
	back, err := ReadCalibration(path)
	must(t, err)
	if d := cmp.Diff(c, back); d != "" {
		t.Error(d)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("the folder contains %v (%v)", entries, err)
	}
	c.Rounds = 4
	must(t, c.Write(path)) // overwrites the file
	if back, err = ReadCalibration(path); err != nil || back.Rounds != 4 {
		t.Errorf("%+v, %v", back, err)
	}
}

// Machines that share a home folder have separate calibration files, even if their names have the
// same slug. Whatever the name, the file is inside the folder for calibrations.
func TestCalibrationFiles(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"a", "b", "A", "a b", "a/b", "a-b", "../a", "", strings.Repeat("x", 300)} {
		path := CalibrationFile("/cache", &measure.Machine{Name: name})
		if other, ok := seen[path]; ok {
			t.Errorf("%q and %q have the same file", name, other)
		}
		seen[path] = name
		if filepath.Dir(path) != "/cache/quorumbench/calibration" || len(filepath.Base(path)) > 100 {
			t.Errorf("%q: %s", name, path)
		}
	}
}

func TestCalibrationAppliesToItsMachineAndProgram(t *testing.T) {
	c := calibration()
	if got := c.CurrentFor(&c.Machine, c.Tool); got != c {
		t.Errorf("the machine and the program are unchanged, but CurrentFor returns %+v", got)
	}
	if got := (*Calibration)(nil).CurrentFor(&c.Machine, c.Tool); got != nil {
		t.Errorf("without a calibration, CurrentFor returns %+v", got)
	}
	more := c.Machine
	more.MemoryBytes++ // the memory can differ slightly after each boot
	if got := c.CurrentFor(&more, c.Tool); got != c {
		t.Errorf("with another memory size, CurrentFor returns %+v", got)
	}
	two := 2.0
	for want, change := range map[string]func(*measure.Machine, *Tool){
		"the machine has the kernel 6.2 instead of 6.1":                                                                func(m *measure.Machine, _ *Tool) { m.Kernel = "6.2" },
		"the machine has the CPU count 4 instead of 2":                                                                 func(m *measure.Machine, _ *Tool) { m.CPUs = 4 },
		"the machine has the CPU limit 2 instead of no limit":                                                          func(m *measure.Machine, _ *Tool) { m.CPULimit = &two },
		"the machine has the name other instead of vm":                                                                 func(m *measure.Machine, _ *Tool) { m.Name = "other" },
		"this program is quorumbench v2 (abc) by go1, and the calibration was measured by quorumbench v1 (abc) by go1": func(_ *measure.Machine, t *Tool) { t.Version = "v2" },
		"this program is quorumbench v1 by go1, and the calibration was measured by quorumbench v1 (abc) by go1":       func(_ *measure.Machine, t *Tool) { t.Revision = "" },
	} {
		m, tool := c.Machine, c.Tool
		change(&m, &tool)
		got := c.CurrentFor(&m, tool)
		if got.Outdated != want || got.Generator != (GeneratorLimits{}) || got.Disk != nil || !got.Measured.Equal(c.Measured) {
			t.Errorf("%q: %+v", want, got)
		}
	}
}

func TestBadCalibrationIsExplained(t *testing.T) {
	c := calibration()
	whole, err := encode(c)
	must(t, err)
	changed := func(from, to string) string {
		if !bytes.Contains(whole, []byte(from)) {
			t.Fatalf("the calibration has no %s", from)
		}
		return strings.Replace(string(whole), from, to, 1)
	}
	for _, tt := range []struct{ contents, want string }{
		{"", "not the JSON of a calibration: unexpected EOF"},
		{"{", "not the JSON of a calibration"},
		{"[]", "not the JSON of a calibration"},
		{"{}", `its schema is "" instead of "quorumbench/calibration/1"`},
		{`{"schema":"quorumbench/run/2"}`, "its schema is"},
		{changed("calibration/1", "calibration/2"), `its schema is "quorumbench/calibration/2" instead of "quorumbench/calibration/1"`},
		{string(whole[:len(whole)/2]), "not the JSON of a calibration"},
		{string(whole) + "{}", "there is text after the object"},
		{changed(`"rounds": 3`, `"rounds": 0`), "numbers that no calibration can have"},
		{changed(`"lowest": 20000`, `"lowest": 20000000`), "numbers that no calibration can have"},
		{changed(`"lowest_ns": 10`, `"lowest_ns": -10`), "numbers that no calibration can have"},
		{changed(`"open_rate": 2000`, `"open_rate": 1e999`), "not the JSON of a calibration"},
		{strings.Repeat(" ", maxCalibration+1), "the limit for such a file"},
	} {
		path := filepath.Join(t.TempDir(), "c.json")
		must(t, os.WriteFile(path, []byte(tt.contents), 0o600))
		_, err := ReadCalibration(path)
		sentence(t, err, tt.want)
		sentence(t, err, `"quorumbench check machine" writes a new one`)
	}
	_, err = ReadCalibration(t.TempDir())
	sentence(t, err, "a folder and not a regular file")
}

// A calibration applies to a trial if the trial's load was generated on the calibrated machine.
func TestCalibrationOfATrial(t *testing.T) {
	c := calibration()
	elsewhere := c.Machine
	elsewhere.Name = "agent"
	if c.forMachine(&c.Machine) != c || c.forMachine(&elsewhere) != nil || c.forMachine(nil) != nil || (*Calibration)(nil).forMachine(&c.Machine) != nil {
		t.Error("a calibration applies to another machine, or does not apply to its own")
	}
	c.Rounds = -1
	if c.forMachine(&c.Machine) != nil {
		t.Error("a calibration with impossible numbers is used")
	}
}

func FuzzCalibration(f *testing.F) {
	whole, err := encode(calibration())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseCalibration(b)
		if oneLine(t, err); err != nil {
			return
		}
		if !c.isConsistent() || c.Schema != CalibrationSchema || !text.Printable(c.Store) || !text.Printable(c.Machine.Name) {
			t.Errorf("%+v", c)
		}
		again, err := encode(c)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseCalibration(again)
		if err != nil {
			t.Fatalf("the written calibration cannot be read again: %v", err)
		}
		if d := cmp.Diff(c, back); d != "" {
			t.Error(d)
		}
	})
}
