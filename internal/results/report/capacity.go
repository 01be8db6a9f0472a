package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Capacity writes what a search for a capacity came to: the interval, what ended the
// search, and the curve of response time over rate. dir is the run directory's path.
func Capacity(w io.Writer, f *analyze.CapacityFinding, dir string) error {
	var b bytes.Buffer
	b.WriteString(capacityText(f, &textLayout))
	fmt.Fprintf(&b, "\nRun directory: %s\n", printable.Line(dir, printable.OfOutput))
	_, err := b.WriteTo(w)
	return err
}

func capacityText(f *analyze.CapacityFinding, as *layout) string {
	var b bytes.Buffer
	of := ""
	if len(f.Run.Trials) > 0 {
		t := &f.Run.Trials[0]
		of = fmt.Sprintf(" of %s on %s, %s", analyze.Headline(t), analyze.Store(t), readable.Plural(uint64(max(t.Members, 0)), "member"))
	}
	b.WriteString(as.sentence(fmt.Sprintf("Capacity%s, for %s: %s", of, f.Objective, capacityInterval(f))) + "\n")
	if f.Why != "" {
		b.WriteString(as.sentence(fmt.Sprintf("The search ended after %s and %s: %s.", readable.Seconds(f.Seconds), readable.Plural(uint64(len(f.Trials)), "trial"), f.Why)) + "\n")
	}
	b.WriteString(as.sentence(spanned(f)) + "\n")
	if len(f.Curve) > 0 {
		b.WriteString(as.heading("Response time over rate, trial by trial") + "\n" + as.gap + as.table(capacityCurve(f)))
	}
	return b.String()
}

// capacityInterval is the interval, or what there is of one, in words.
func capacityInterval(f *analyze.CapacityFinding) string {
	low := readable.PerSecond(f.LowerPerSecond)
	width, closed := f.Width()
	switch {
	case f.Status == string(capacity.NothingTested) || len(f.Curve) == 0:
		return "not known"
	case closed:
		return fmt.Sprintf("%s (%s interval, %s wide%s)", readable.Between(low, readable.PerSecond(*f.UpperPerSecond)), readable.Percent(f.Level, 0), readable.Percent(width, 1), doubt(f))
	case f.UpperPerSecond != nil:
		return "below " + readable.PerSecond(*f.UpperPerSecond)
	}
	return "at least " + low
}

// doubt is what is to be said of an interval beside its width.
func doubt(f *analyze.CapacityFinding) string {
	if f.Status == string(capacity.Disturbed) {
		return "; disturbed: it is of all that the capacity was in the search"
	}
	return ""
}

// spanned says what the store did of its own in the trials.
func spanned(f *analyze.CapacityFinding) string {
	switch {
	case !f.LogsRead:
		return "Whether the store wrote a snapshot or compacted in the windows is not known: the cluster ran before, and its logs were not read."
	case f.Snapshots+f.Compactions == 0:
		return "The store neither wrote a snapshot nor compacted in the windows: what that costs is not in the capacity."
	case f.Snapshots == 0:
		return fmt.Sprintf("In the windows the store compacted (%s), and wrote no snapshot.", readable.Plural(f.Compactions, "time"))
	case f.Compactions == 0:
		return fmt.Sprintf("In the windows the store wrote %s, and did not compact.", readable.Plural(f.Snapshots, "snapshot"))
	}
	return fmt.Sprintf("In the windows the store wrote %s and compacted (%s).", readable.Plural(f.Snapshots, "snapshot"), readable.Plural(f.Compactions, "time"))
}

func capacityCurve(f *analyze.CapacityFinding) *grid {
	g := &grid{columns: []analyze.Column{{Title: "rate"}, {Title: "throughput"}, {Title: "p50"}, {Title: "p99"}, {Title: "bad"}, {Title: "window"},
		{Title: "objective", Left: true}, {Title: "purpose", Left: true}, {Title: "verdict", Left: true}}}
	for _, p := range f.Curve {
		worst := 0.0
		for _, share := range p.Bad {
			if share != nil {
				worst = max(worst, *share)
			}
		}
		holds := "missed"
		switch {
		case p.Holds:
			holds = "kept"
		case p.Overloaded:
			holds = "overloaded"
		}
		t := p.Trial
		g.add(readable.PerSecond(p.Rate), readable.PerSecond(t.PerSecond), readable.Figure(t.ResponseTime.At(50)), readable.Figure(t.ResponseTime.At(99)),
			readable.Percent(worst, 2), readable.Seconds(t.Seconds), holds, p.Purpose, string(t.Verdict.State))
	}
	return g
}

// CapacityJSON writes the same as one JSON object.
func CapacityJSON(w io.Writer, f *analyze.CapacityFinding, dir string) error {
	var o record.Object
	if len(f.Run.Trials) > 0 {
		t := &f.Run.Trials[0]
		o.Add("store", t.Store)
		o.Add("version", t.Version)
		o.Add("members", t.Members)
		o.Add("load", analyze.Headline(t))
	}
	o.Add("objective", f.Objective)
	o.Add("lower_per_second", f.LowerPerSecond)
	o.Add("upper_per_second", f.UpperPerSecond)
	o.Add("level", f.Level)
	var width *float64
	if share, closed := f.Width(); closed {
		width = &share
	}
	o.Add("width", width)
	o.Add("status", f.Status)
	o.Add("why", f.Why)
	o.Add("seconds", f.Seconds)
	if f.LogsRead {
		o.Add("snapshots", f.Snapshots)
		o.Add("compactions", f.Compactions)
	}
	curve := make([]record.Object, 0, len(f.Curve))
	for _, p := range f.Curve {
		var one record.Object
		one.Add("trial", p.Trial.Folder)
		one.Add("purpose", p.Purpose)
		one.Add("rate_per_second", p.Rate)
		one.Add("operations_per_second", p.Trial.PerSecond)
		one.Add("response_time_ns", p.Trial.ResponseTime)
		one.Add("bad_shares", p.Bad)
		one.Add("holds", p.Holds)
		one.Add("overloaded", p.Overloaded)
		one.Add("verdict", p.Trial.Verdict.State)
		curve = append(curve, one)
	}
	o.Add("curve", curve)
	o.Add("run_directory", dir)
	return writeJSON(w, o)
}
