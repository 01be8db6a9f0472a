package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// goUnits lists the figures that GoBench writes, with their units. benchstat recognizes the parts
// "ns" and "B" of a unit as nanoseconds and bytes, and scales these values.
var goUnits = []struct{ figure, unit string }{
	{"mean", "ns/op"}, {"p50", "p50-ns"}, {"p90", "p90-ns"}, {"p99", "p99-ns"}, {"p99.9", "p99.9-ns"}, {"max", "max-ns"},
	{"ops", "ops/s"}, {"error-share", "errors/op"},
	{"cpu-per-op", "gen-cpu-ns/op"}, {"store-cpu-per-op", "store-cpu-ns/op"}, {"store-rss", "store-rss-B"},
}

// GoBench writes trials in the Go benchmark format
// (https://golang.org/design/14313-benchmark-format), one line per trial. Repeats have the same
// name, so benchstat treats them as samples.
//
// The name of a benchmark describes the load. Configuration lines describe only the machine,
// because benchstat does not compare benchmarks with different configurations. For the same reason,
// the version of the store is only in comment lines, which benchstat ignores.
func GoBench(w io.Writer, run *record.Run, trials []*record.Trial, leftOut []string) error {
	var b bytes.Buffer
	comment := func(what string, all ...string) {
		if len(all) > 0 {
			fmt.Fprintf(&b, "# %s: %s\n", what, text.Line(strings.Join(all, ", "), text.MaxOutput))
		}
	}
	comment("run", fmt.Sprintf("%s of %s by quorumbench %s", run.Name, run.Started.UTC().Format(time.RFC3339), text.OrDash(run.Tool.Version)))
	comment("not counted", leftOut...)
	for _, u := range goUnits {
		f := figures.Registered(u.figure)
		better := "lower"
		if f.Direction == figures.HigherIsBetter {
			better = "higher"
		}
		fmt.Fprintf(&b, "Unit %s better=%s\n", u.unit, better)
	}
	comment("store-cpu-ns/op, store-rss-B", "sums of all members")
	counts := ""
	for _, t := range trials {
		if now := goMachine(t); now != counts {
			b.WriteString(now)
			counts = now
		}
		comment(analyze.Label(t), analyze.Store(t), "verdict "+string(t.Verdict.State))
		b.WriteString(goName(t) + "\t" + strconv.FormatUint(t.Operations, 10))
		for _, u := range goUnits {
			f := figures.Registered(u.figure)
			if v := f.Value(t); v.Known || v.Failed {
				b.WriteString("\t" + goFigure(v, u.unit))
			}
		}
		b.WriteByte('\n')
	}
	_, err := b.WriteTo(w)
	return err
}

// goFigure formats a figure with its unit. If the figure is the time of a failed operation, the
// result is +Inf. benchstat then treats the value as slower than any success when it computes the
// median. An infinite time has the unit seconds, because benchfmt converts nanoseconds to seconds
// only if the conversion changes the number.
func goFigure(v figures.Value, unit string) string {
	if v.Failed {
		return "+Inf " + strings.Replace(unit, "ns", "sec", 1)
	}
	return strconv.FormatFloat(analyze.FileNumber(v), 'f', -1, 64) + " " + unit
}

// goMachine returns configuration lines in the format of go test. A line with an empty value clears
// the value that an earlier trial has set.
func goMachine(t *record.Trial) string {
	var system, architecture, cpu string
	if m := t.Machine; m != nil {
		system, architecture, cpu = m.System, m.Architecture, m.CPU
	}
	words := ""
	for _, c := range [][2]string{{"goos", system}, {"goarch", architecture}, {"cpu", cpu}} {
		words += strings.TrimRight(c[0]+": "+text.Line(c[1], text.MaxOutput), " ") + "\n"
	}
	return words
}

// goName returns the benchmark name of a trial. The name must not end with a hyphen and a number,
// because benchstat would interpret the number as GOMAXPROCS.
func goName(t *record.Trial) string {
	clients := "clients=" + strconv.Itoa(t.Clients)
	if t.Open() {
		clients = "rate=" + goWord(t.Load.Rate.String())
	}
	operation := []rune(goWord(t.Operation))
	operation[0] = unicode.ToUpper(operation[0])
	return "Benchmark" + string(operation) + "/" + strings.Join([]string{
		"trial=" + goWord(t.Name), "members=" + strconv.Itoa(t.Members), "consistency=" + goWord(t.Consistency), "target=" + goWord(t.Target.String()),
		"connections=" + strconv.Itoa(t.Connections), clients, "value=" + strconv.Itoa(t.ValueSize), "loop=" + goWord(t.Arrival.String()),
	}, "/")
}

// goWord converts text to a part of a benchmark name. The result contains no spaces or slashes, and
// is not empty.
func goWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, attributeText(s))
}
