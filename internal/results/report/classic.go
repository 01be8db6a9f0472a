package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Classic is a summary in the format of etcd's benchmark tool (pkg/report of go.etcd.io/etcd). It
// has the same labels and lines, so scripts that parse the tool's output also parse the summary.
// The figures have the definitions of quorumbench: times are response times in an open loop and
// service times in a closed loop. If the operation at a percentile's rank failed, the summary shows
// "failed". Percentiles with too few samples are omitted.
type Classic struct {
	Precise bool // print all digits
	Sample  bool // print one line per second
	Note    string
	// Operations, Created and Events are the sections of the summary for a load with watchers.
	Operations, Created, Events *Section
}

// Section is a section of the summary.
type Section = analyze.ClassicSection

func (c Classic) parts(t *record.Trial, files *record.Files) []analyze.ClassicPart {
	return analyze.ClassicParts(t, files, analyze.ClassicSections{Operations: c.Operations, Created: c.Created, Events: c.Events})
}

// Write writes the summary of a trial. If the trial has both reads and writes, or if the summary
// has several sections, Write writes a separate summary for each of them.
func (c Classic) Write(w io.Writer, t *record.Trial, files *record.Files) error {
	if !analyze.HasFigures(t) {
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
		case p.Heading != "":
			fmt.Fprintf(&b, "\n%s\n", p.Heading)
		case len(parts) > 1:
			fmt.Fprintf(&b, "\nTotal %s Ops: %d\nDetails:", p.Name, p.Operations)
		}
		c.part(&b, p)
	}
	classicHashes(&b, t.Hashes)
	_, err := w.Write(b.Bytes())
	return err
}

// classicHashes writes the hashes of the members' data, with the time that it took to query all
// members.
func classicHashes(b *bytes.Buffer, h *record.Hashes) {
	if h == nil {
		return
	}
	of := ""
	if len(h.Members) > 1 {
		of = fmt.Sprintf(" (all %d endpoints)", len(h.Members))
	}
	for _, m := range h.Members {
		fmt.Fprintf(b, "\nHashKV Summary:\n\tHashKV: %d\n\tEndpoint: %s\n\tTime taken to get hashkv: %v%s\n", m.Hash, m.Endpoint, h.Duration(), of)
		if m.DBSize != nil {
			fmt.Fprintf(b, "\tDB size: %s\n", text.Bytes(uint64(*m.DBSize)))
		}
	}
}

func (c Classic) part(b *bytes.Buffer, p *analyze.ClassicPart) {
	if t := p.Times; t != nil {
		b.WriteString("\nSummary:\n")
		for _, f := range []struct {
			label   string
			seconds float64
		}{{"Total", t.Total}, {"Slowest", t.Slowest}, {"Fastest", t.Fastest}, {"Average", t.Average}, {"Stddev", t.Stddev}} {
			fmt.Fprintf(b, "  %s:\t%s.\n", f.label, c.briefSeconds(f.seconds))
		}
		fmt.Fprintf(b, "  Requests/sec:\t%s\n", c.number(t.PerSecond, 4))
		b.WriteString("\nResponse time histogram:\n")
		for _, bin := range t.Bins {
			fmt.Fprintf(b, "  %s [%d]\t|%s\n", c.seconds(bin.UpperBound), bin.Count, strings.Repeat("∎", bin.Bar))
		}
	}
	if p.Operations > 0 {
		b.WriteString("\nLatency distribution:\n")
		for _, at := range p.Percentiles {
			in := "failed"
			if !at.Failed {
				in = c.briefSeconds(at.Seconds)
			}
			fmt.Fprintf(b, "  %v%% in %s.\n", at.Percentile, in)
		}
	}
	if c.Sample {
		c.samples(b, p.Seconds)
	}
	if len(p.Errors) > 0 || p.Lost > 0 {
		b.WriteString("\nError distribution:\n")
		for _, e := range p.Errors {
			fmt.Fprintf(b, "  [%d]\t%s\n", e.Count, e.Text)
		}
		if p.Lost > 0 {
			fmt.Fprintf(b, "  [%d]\tlost: the event of an acknowledged write did not arrive\n", p.Lost)
		}
	}
}

func (c Classic) number(x float64, decimals int) string {
	if c.Precise {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// seconds formats a time with six decimals. With the four decimals that etcd's benchmark tool
// shows, many times would be zero.
func (c Classic) seconds(s float64) string { return c.number(s, 6) }

func (c Classic) briefSeconds(s float64) string { return c.seconds(s) + " secs" }

// samples writes a CSV line for each second of the window.
func (c Classic) samples(b *bytes.Buffer, seconds []analyze.ClassicSecond) {
	b.WriteString("\nSample in one second (unix latency throughput):\n")
	b.WriteString("UNIX-SECOND,MIN-LATENCY-MS,AVG-LATENCY-MS,MAX-LATENCY-MS,AVG-THROUGHPUT\n")
	for _, s := range seconds {
		latencies := ",,"
		if s.Known {
			latencies = c.number(s.MinMS, 4) + "," + c.number(s.MeanMS, 4) + "," + c.number(s.MaxMS, 4)
		}
		fmt.Fprintf(b, "%d,%s,%d\n", s.Unix, latencies, s.Done)
	}
	b.WriteString("\n")
}

// The types of the JSON file for perfdash, in the format of etcd's benchmark tool. Percentiles are
// in milliseconds. An unknown percentile is null; etcd's benchmark tool writes 0 instead.
type (
	perfdash struct {
		Version   string         `json:"version"`
		DataItems []perfdashItem `json:"dataItems"`
	}
	perfdashItem struct {
		Data   perfdashData      `json:"data"`
		Labels map[string]string `json:"labels"`
		Unit   string            `json:"unit"`
	}
	perfdashData struct {
		Perc50 *float64 `json:"Perc50"`
		Perc90 *float64 `json:"Perc90"`
		Perc99 *float64 `json:"Perc99"`
	}
)

// WritePerfdash writes a trial's percentiles into a new file in the folder dir. It creates the
// folder if needed, and returns the path of the file. operation is the name of the command.
func (c Classic) WritePerfdash(dir, operation string, t *record.Trial, recorded *record.Files, now time.Time) (string, error) {
	report := perfdash{Version: "v1"}
	parts := c.parts(t, recorded)
	for i := range parts {
		p := &parts[i]
		name := operation
		if p.Name != "" && (len(parts) > 1 || p.Heading != "") {
			name += "-" + p.Name
		}
		report.DataItems = append(report.DataItems, perfdashItem{
			Data:   perfdashData{p.Milliseconds(50), p.Milliseconds(90), p.Milliseconds(99)},
			Labels: map[string]string{"Operation": strings.ToUpper(name)}, Unit: "ms",
		})
	}
	b, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return "", fmt.Errorf("cannot write the perfdash report as JSON: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot create the folder for the perfdash report: %w", err)
	}
	name := fmt.Sprintf("EtcdAPI_benchmark_%s_%s.json", operation, now.UTC().Format(time.RFC3339))
	if err := files.Replace(filepath.Join(dir, name), 0o644, append(b, '\n')); err != nil {
		return "", fmt.Errorf("cannot write the perfdash report: %w", err)
	}
	return filepath.Join(dir, name), nil
}
