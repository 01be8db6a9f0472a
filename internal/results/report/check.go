package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// PerfCheck writes what a check of a load came to, with the labels of `etcdctl
// check perf`.
func PerfCheck(w io.Writer, c *analyze.PerfCheck, verbose bool) error {
	var b bytes.Buffer
	t := c.Trial
	cleanedUp(&b, t.Cleanup)
	switch {
	case t.State == record.Interrupted && t.Seconds == 0:
		b.WriteString("INTERRUPTED before the first second was measured\n")
	case t.State == record.Interrupted:
		fmt.Fprintf(&b, "INTERRUPTED after %.1f s: %.0f writes/s, slowest %fs\n", t.Seconds, t.PerSecond, c.Slowest)
	default:
		perfJudged(&b, c, verbose)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func perfJudged(b *bytes.Buffer, c *analyze.PerfCheck, verbose bool) {
	t := c.Trial
	printLines(b, "", c.Lines)
	if c.NotSent > 0 {
		fmt.Fprintf(b, "%s writes were due and never sent: %d were in flight, and no more are allowed\n", readable.Count(c.NotSent), t.MaxInFlight)
	}
	if verbose {
		fmt.Fprintf(b, "Response time, from when a write was due: %s\nService time, from when it was sent: %s\n",
			readable.Percentiles(t.ResponseTime.Summary), readable.Percentiles(t.ServiceTime.Summary))
	}
	switch causes := c.Limits.Causes; {
	case c.Pass && verbose:
		listed(b, "Seen:", c.Limits.Looked)
	case c.Pass:
	case len(causes) == 0:
		listed(b, "Nothing that was looked at says what is too slow:", c.Limits.Looked)
	default:
		b.WriteString("What is too slow:\n")
		for _, cause := range causes {
			fmt.Fprintf(b, "  %s: %s\n", cause.What, cause.Text)
		}
		listed(b, "Looked at:", c.Limits.Looked)
	}
	if c.Pass && t.Cleanup.Err() == nil {
		b.WriteString("PASS\n")
	} else {
		b.WriteString("FAIL\n")
	}
}

func listed(b *bytes.Buffer, head string, lines []string) {
	b.WriteString(head + "\n")
	printLines(b, "  ", lines)
}

func printLines(b *bytes.Buffer, indent string, lines []string) {
	for _, line := range lines {
		b.WriteString(indent + line + "\n")
	}
}

// cleanedUp writes what came of a clean-up in etcdctl's words, and how much space
// came back.
func cleanedUp(b *bytes.Buffer, c *record.Cleanup) {
	if c == nil {
		return
	}
	reclaimed := c.Revision > 0 || c.Defragmented()
	if c.Failure != "" && !reclaimed {
		fmt.Fprintf(b, "FAIL: Cleanup failed during key deletion: ERROR(%s)\n", c.Failure)
		return
	}
	if c.Revision > 0 {
		fmt.Fprintf(b, "Compacting with revision %d\nCompacted with revision %d\n", c.Revision, c.Revision)
	}
	for _, s := range c.Space {
		if s.Defragmented {
			fmt.Fprintf(b, "Defragmenting %q\nDefragmented %q\n", s.Endpoint, s.Endpoint)
		}
	}
	if reclaimed {
		for _, s := range c.Space {
			fmt.Fprintf(b, "Space of member %s: %s before, %s after, %s given back\n", s.Member,
				readable.Mebibytes(s.Before), readable.Mebibytes(s.After), readable.Mebibytes(s.GivenBack()))
		}
	}
	if c.Failure != "" {
		fmt.Fprintf(b, "FAIL: Cleanup failed: ERROR(%s)\n", c.Failure)
	}
}

// ScaleCheck writes what so many keys cost the members, with the labels of
// `etcdctl check datascale`.
func ScaleCheck(w io.Writer, c *analyze.ScaleCheck, verbose bool) error {
	var b bytes.Buffer
	t := c.Trial
	cleanedUp(&b, t.Cleanup)
	switch {
	case t.State == record.Interrupted:
		fmt.Fprintf(&b, "INTERRUPTED after %.1f s: %s keys were written\n", t.Seconds, readable.Count(t.Operations))
	case len(c.Members) > 0:
		scaleJudged(&b, c, verbose)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func scaleJudged(b *bytes.Buffer, c *analyze.ScaleCheck, verbose bool) {
	t, first := c.Trial, &c.Members[0]
	printLines(b, "", c.Lines)
	if len(c.ByError) == 0 {
		fmt.Fprintf(b, "PASS: Approximate system memory used : %.2f MB.\n", first.Memory.MB())
	}
	for i := range c.Members {
		m := &c.Members[i]
		fmt.Fprintf(b, "Member %s: memory %s; database %s\n", m.Name, grown(m.Memory, t.Operations, m.Unread), grown(m.Disk, t.Operations, ""))
	}
	if first.Memory.Grown() < 0 {
		fmt.Fprintf(b, "Member %s needs less memory than before: it had some left over. Restart it for a figure that means something.\n", first.Name)
	}
	fmt.Fprintf(b, "%s keys in %.1f s: %s\n", readable.Count(t.Operations), t.Seconds, readable.PerSecond(t.PerSecond))
	fmt.Fprintf(b, "Service time: %s\n", readable.Percentiles(t.ServiceTime.Summary))
	if verbose {
		fmt.Fprintf(b, "Slowest %s, mean %s\n", readable.Figure(t.ServiceTime.Max), readable.Figure(t.ServiceTime.Mean))
	}
}

// grown is a figure before and after, and what that is for each key.
func grown(c analyze.Growth, keys uint64, why string) string {
	switch {
	case !c.Known && why == "":
		return "not known"
	case !c.Known:
		return why
	}
	text := fmt.Sprintf("%s before, %s after", readable.Mebibytes(c.Before), readable.Mebibytes(c.After))
	if each, ok := c.Each(keys); ok {
		text += fmt.Sprintf(", %.0f bytes per key", each)
	}
	return text
}
