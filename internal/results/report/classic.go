package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Classic is the summary that etcd's benchmark prints (pkg/report of
// go.etcd.io/etcd), with the same labels on the same lines, for scripts that
// look for them. Its figures are ours: response times in an open loop, service
// times in a closed one; a percentile that lands on a failed operation says so,
// and one that the sample does not support is left out.
type Classic struct {
	Precise bool // all digits
	Sample  bool // a line for each second
	Note    string
	// Operations, Created and Events are the sections of a load with watchers:
	// of its operations, of the watchers' creation and of their events. Those
	// that are nil are left out; without any, the operations have no heading.
	Operations, Created, Events *Section
}

// Section is a part of the summary: its heading, and what perfdash calls it
// behind the command's name.
type Section struct{ Heading, Label string }

// Write writes a trial's summary, or several: one for reads and one for writes,
// or one for each section.
func (c Classic) Write(w io.Writer, t *record.Trial, files *record.Files) error {
	if !analyze.Measured(t) {
		return nil
	}
	var b bytes.Buffer
	if c.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", c.Note)
	}
	parts := c.parts(t, files)
	for i := range parts {
		p := &parts[i]
		switch {
		case p.heading != "":
			fmt.Fprintf(&b, "\n%s\n", p.heading)
		case len(parts) > 1:
			fmt.Fprintf(&b, "\nTotal %s Ops: %d\nDetails:", p.name, p.operations())
		}
		c.part(&b, p)
	}
	classicHashes(&b, t.Hashes)
	_, err := w.Write(b.Bytes())
	return err
}

// classicHashes writes the members' hashes. How long it took is known for all
// together.
func classicHashes(b *bytes.Buffer, h *record.Hashes) {
	if h == nil {
		return
	}
	of := ""
	if len(h.Members) > 1 {
		of = fmt.Sprintf(" (all %d endpoints)", len(h.Members))
	}
	for _, m := range h.Members {
		fmt.Fprintf(b, "\nHashKV Summary:\n\tHashKV: %d\n\tEndpoint: %s\n\tTime taken to get hashkv: %v%s\n", m.Hash, m.Endpoint,
			time.Duration(h.Seconds*1e9).Round(time.Microsecond), of)
		if m.DBSize != nil {
			fmt.Fprintf(b, "\tDB size: %s\n", readable.Bytes(uint64(*m.DBSize)))
		}
	}
}

func (c Classic) part(b *bytes.Buffer, p *classicPart) {
	if h := p.times; h.TotalCount() > 0 && p.seconds > 0 {
		b.WriteString("\nSummary:\n")
		for _, f := range []struct {
			label string
			ns    float64
		}{
			{"Total", 1e9 * p.seconds}, {"Slowest", float64(h.Max())}, {"Fastest", float64(h.Min())},
			{"Average", h.Mean()}, {"Stddev", h.StdDev()},
		} {
			fmt.Fprintf(b, "  %s:\t%s.\n", f.label, c.secs(f.ns))
		}
		fmt.Fprintf(b, "  Requests/sec:\t%s\n", c.number(float64(h.TotalCount())/p.seconds, 4))
		c.histogram(b, h)
	}
	if p.operations() > 0 {
		c.percentiles(b, p)
	}
	if c.Sample {
		c.samples(b, p)
	}
	if p.failed() > 0 {
		b.WriteString("\nError distribution:\n")
		for o := kv.NotSent; o < kv.NumOutcomes; o++ {
			if n := p.errors[o]; n > 0 {
				fmt.Fprintf(b, "  [%d]\t%s\n", n, p.texts[o])
			}
		}
		if p.lost > 0 {
			fmt.Fprintf(b, "  [%d]\tlost: the event of an acknowledged write did not come\n", p.lost)
		}
	}
}

func (c Classic) number(x float64, decimals int) string {
	if c.Precise {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// seconds are told to the microsecond: the four decimals of etcd's benchmark
// make many a time zero.
func (c Classic) seconds(ns float64) string { return c.number(ns/1e9, 6) }

func (c Classic) secs(ns float64) string { return c.seconds(ns) + " secs" }

// The response time histogram has so many steps above its first, and so many
// characters at its longest bar.
const (
	classicSteps = 10
	classicBar   = 40
)

func (c Classic) histogram(b *bytes.Buffer, h *measure.Histogram) {
	bounds, counts := classicBins(h)
	var most int64
	for _, n := range counts {
		most = max(most, n)
	}
	b.WriteString("\nResponse time histogram:\n")
	for i, n := range counts {
		bar := strings.Repeat("∎", int(n*classicBar/max(most, 1)))
		fmt.Fprintf(b, "  %s [%d]\t|%s\n", c.seconds(bounds[i]), n, bar)
	}
}

// classicBins counts what is at most each bound and above the one before: the
// first bound is the fastest, the last the slowest time.
func classicBins(h *measure.Histogram) (bounds []float64, counts []int64) {
	fastest, slowest := float64(h.Min()), float64(h.Max())
	for i := range classicSteps {
		bounds = append(bounds, fastest+(slowest-fastest)*float64(i)/classicSteps)
	}
	bounds = append(bounds, slowest)
	counts = make([]int64, len(bounds))
	at := 0
	for _, bar := range h.Distribution() { // by value
		for at < classicSteps && float64(bar.From) > bounds[at] {
			at++
		}
		counts[at] += bar.Count
	}
	return bounds, counts
}

func (c Classic) percentiles(b *bytes.Buffer, p *classicPart) {
	b.WriteString("\nLatency distribution:\n")
	s := measure.Summarize(p.times, p.failed())
	for _, at := range measure.Percentiles {
		switch f := s.At(at); {
		case f.Failed:
			fmt.Fprintf(b, "  %v%% in failed.\n", at)
		case f.Known:
			fmt.Fprintf(b, "  %v%% in %s.\n", at, c.secs(f.NS))
		}
	}
}

// samples writes a line for each second of the window. Where nothing that was
// due then succeeded, there are no latencies.
func (c Classic) samples(b *bytes.Buffer, p *classicPart) {
	b.WriteString("\nSample in one second (unix latency throughput):\n")
	b.WriteString("UNIX-SECOND,MIN-LATENCY-MS,AVG-LATENCY-MS,MAX-LATENCY-MS,AVG-THROUGHPUT\n")
	for _, s := range p.samples {
		latencies := ",,"
		if h := s.times; h != nil && h.TotalCount() > 0 {
			ms := func(ns float64) string { return c.number(ns/1e6, 4) }
			latencies = ms(float64(h.Min())) + "," + ms(h.Mean()) + "," + ms(float64(h.Max()))
		}
		fmt.Fprintf(b, "%d,%s,%d\n", s.start.Unix(), latencies, s.done)
	}
	b.WriteString("\n")
}
