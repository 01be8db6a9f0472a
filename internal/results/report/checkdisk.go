package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// DiskCheck writes how long a disk takes, and what each store makes of it.
func DiskCheck(w io.Writer, c *analyze.DiskCheck) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s records of %s, each made durable before the next, in %s: %s\n", c.Dir, readable.Count(uint64(c.Records)),
		scenario.FormatSize(c.Record), readable.Duration(c.NS()), readable.PerSecond(c.PerSecond()))
	fmt.Fprintf(&b, "File system: %s\n", c.FileSystem)
	if !c.Durable {
		b.WriteString("It is not durable: what is written is lost at power loss, and fdatasync does nothing, so no disk was measured.\n")
	}
	for _, line := range c.Times() {
		fmt.Fprintf(&b, "%s: p50 %s, p99 %s, p99.9 %s, longest %s\n", line.Name, readable.Figure(line.At(50)), readable.Figure(line.At(99)),
			readable.Figure(line.At(99.9)), readable.Figure(line.Max))
	}
	for _, o := range ofOneOpinion(c.Opinions) {
		word := "PASS"
		if !o.Pass {
			word = "FAIL"
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", word, o.Store, o.Text)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// ofOneOpinion puts the stores together that are of one opinion, because they are
// one server below.
func ofOneOpinion(list []analyze.DiskOpinion) (out []analyze.DiskOpinion) {
	for _, o := range list {
		at := slices.IndexFunc(out, func(g analyze.DiskOpinion) bool { return g.Text == o.Text })
		if at < 0 {
			out = append(out, o)
			continue
		}
		out[at].Store += ", " + o.Store
	}
	return out
}

// diskCheck is what `check disk --format json` prints.
type diskCheck struct {
	Check      string             `json:"check"`
	Dir        string             `json:"dir"`
	RecordSize int                `json:"record_bytes"`
	Records    int                `json:"records"`
	Seconds    float64            `json:"seconds"`
	Rate       float64            `json:"records_per_second"`
	FileSystem string             `json:"file_system"`
	Durable    bool               `json:"durable"`
	Sync       map[string]float64 `json:"fdatasync_seconds"`
	Whole      map[string]float64 `json:"write_and_fdatasync_seconds"`
	Stores     []diskOpinion      `json:"stores"`
}

type diskOpinion struct {
	Store  string   `json:"store"`
	Pass   bool     `json:"pass"`
	Known  bool     `json:"known"`
	Figure *float64 `json:"seconds"` // null: not known
	Limit  float64  `json:"limit_seconds"`
	Text   string   `json:"text"`
}

// DiskCheckJSON writes the same as one object.
func DiskCheckJSON(w io.Writer, c *analyze.DiskCheck) error {
	j := diskCheck{
		Check: "disk", Dir: c.Dir, RecordSize: c.Record, Records: c.Records, Seconds: c.Seconds, Rate: c.PerSecond(),
		FileSystem: c.FileSystem, Durable: c.Durable, Sync: analyze.SecondsWithMax(c.Sync), Whole: analyze.SecondsWithMax(c.Whole),
	}
	for i := range c.Opinions {
		o := &c.Opinions[i]
		one := diskOpinion{o.Store, o.Pass, o.Known, nil, o.Rule.Limit.Seconds(), o.Text}
		if o.Known {
			one.Figure = &o.Figure
		}
		j.Stores = append(j.Stores, one)
	}
	return writeJSON(w, j)
}
