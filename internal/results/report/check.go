package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
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
	_, err := b.WriteTo(w)
	return err
}

// withoutVote names the members that the load did not go to because they have no vote.
func withoutVote(b *bytes.Buffer, t *record.Trial) {
	for _, name := range t.Roles.WithoutVote() {
		fmt.Fprintf(b, "Member %s has no vote: the load went to members that have one.\n", name)
	}
}

func perfJudged(b *bytes.Buffer, c *analyze.PerfCheck, verbose bool) {
	t := c.Trial
	withoutVote(b, t)
	printLines(b, "", c.Lines)
	printAbsent(b, t)
	if c.NotSent > 0 {
		fmt.Fprintf(b, "%s writes were due and never sent: %d were in flight, and no more are allowed\n", text.Count(c.NotSent), t.MaxInFlight)
	}
	if verbose {
		fmt.Fprintf(b, "Response time, from when a write was due: %s\nService time, from when it was sent: %s\n",
			text.Percentiles(t.ResponseTime.Summary), text.Percentiles(t.ServiceTime.Summary))
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
	switch {
	case c.NotKnown != "":
		b.WriteString("NOT KNOWN: " + c.NotKnown + "\n")
	case c.Pass && t.Cleanup.Err() == nil:
		b.WriteString("PASS\n")
	default:
		b.WriteString("FAIL\n")
	}
}

// printAbsent names the members that did not answer before the load.
func printAbsent(b *bytes.Buffer, t *record.Trial) {
	for _, m := range t.Absent {
		b.WriteString(m.String() + "\n")
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
				text.Mebibytes(s.Before), text.Mebibytes(s.After), text.Mebibytes(s.GivenBack()))
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
		fmt.Fprintf(&b, "INTERRUPTED after %.1f s: %s keys were written\n", t.Seconds, text.Count(t.Operations))
	case len(c.Members) > 0:
		scaleJudged(&b, c, verbose)
	}
	_, err := b.WriteTo(w)
	return err
}

func scaleJudged(b *bytes.Buffer, c *analyze.ScaleCheck, verbose bool) {
	t, first := c.Trial, &c.Members[0]
	withoutVote(b, t)
	printLines(b, "", c.Lines)
	if len(c.ByError) == 0 {
		fmt.Fprintf(b, "PASS: Approximate system memory used : %.2f MB.\n", first.Memory.MB())
	}
	printAbsent(b, t)
	for i := range c.Members {
		m := &c.Members[i]
		fmt.Fprintf(b, "Member %s: memory %s; database %s\n", m.Name, grown(m.Memory, t.Operations, m.Unread), grown(m.Disk, t.Operations, ""))
	}
	if first.Memory.Grown() < 0 {
		fmt.Fprintf(b, "Member %s needs less memory than before: it had some left over. Restart it for a figure that means something.\n", first.Name)
	}
	fmt.Fprintf(b, "%s keys in %.1f s: %s\n", text.Count(t.Operations), t.Seconds, text.PerSecond(t.PerSecond))
	fmt.Fprintf(b, "Service time: %s\n", text.Percentiles(t.ServiceTime.Summary))
	if verbose {
		fmt.Fprintf(b, "Slowest %s, mean %s\n", text.Figure(t.ServiceTime.Max), text.Figure(t.ServiceTime.Mean))
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
	words := fmt.Sprintf("%s before, %s after", text.Mebibytes(c.Before), text.Mebibytes(c.After))
	if each, ok := c.Each(keys); ok {
		words += fmt.Sprintf(", %.0f bytes per key", each)
	}
	return words
}

// DiskCheck writes how long a disk takes, and what each store makes of it.
func DiskCheck(w io.Writer, c *analyze.DiskCheck) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s records of %s, each made durable before the next, in %s: %s\n", c.Dir, text.Count(uint64(c.Records)),
		scenario.FormatSize(c.Record), text.Duration(c.NS()), text.PerSecond(c.PerSecond()))
	fmt.Fprintf(&b, "File system: %s\n", c.FileSystem)
	if !c.Durable {
		b.WriteString("It is not durable: what is written is lost at power loss, and fdatasync does nothing, so no disk was measured.\n")
	}
	for _, line := range c.Times() {
		fmt.Fprintf(&b, "%s: p50 %s, p99 %s, p99.9 %s, longest %s\n", line.Name, text.Figure(line.At(50)), text.Figure(line.At(99)),
			text.Figure(line.At(99.9)), text.Figure(line.Max))
	}
	for _, o := range ofOneOpinion(c.Opinions) {
		word := "PASS"
		switch {
		case o.Unknown():
			word = "NOT KNOWN"
		case !o.Pass:
			word = "FAIL"
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", word, o.Store, o.Text)
	}
	_, err := b.WriteTo(w)
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

// DiskCheckJSON writes the same as one object.
func DiskCheckJSON(w io.Writer, c *analyze.DiskCheck) error {
	o := record.Object{}
	o.Add("check", "disk")
	o.Add("dir", c.Dir)
	o.Add("record_bytes", c.Record)
	o.Add("records", c.Records)
	o.Add("seconds", c.Seconds)
	o.Add("records_per_second", c.PerSecond())
	o.Add("file_system", c.FileSystem)
	o.Add("durable", c.Durable)
	o.Add("fdatasync_seconds", analyze.SecondsWithMax(c.Sync))
	o.Add("write_and_fdatasync_seconds", analyze.SecondsWithMax(c.Whole))
	var stores []record.Object // null without any
	for i := range c.Opinions {
		of, one := &c.Opinions[i], record.Object{}
		one.Add("store", of.Store)
		one.Add("pass", of.Pass)
		one.Add("known", of.Known)
		one.Add("seconds", known(of.Figure, of.Known))
		one.Add("limit_seconds", of.Rule.Limit.Seconds())
		one.Add("text", of.Text)
		stores = append(stores, one)
	}
	o.Add("stores", stores)
	return writeJSON(w, o)
}

// PerfCheckJSON writes a check of a load of the given name as one object.
func PerfCheckJSON(w io.Writer, c *analyze.PerfCheck, load string) error {
	t := c.Trial
	o := checkOf("perf", load, t)
	o.Add("members", t.Members)
	o.Add("target", t.Target.String())
	o.Add("rate", t.Rate)
	o.Add("clients", t.MaxInFlight)
	o.Add("connections", t.Connections)
	o.Add("duration_seconds", t.Duration.Seconds())
	o.Add("seed", t.Seed)
	if o.Add("state", checkState(t, c.Pass)); c.NotKnown != "" {
		o.Add("not_known", c.NotKnown)
	}
	lines, causes, looked := c.Lines, []analyze.Cause{}, []string(nil)
	if t.State == record.Interrupted {
		lines = nil
	} else if !c.Pass {
		causes, looked = append(causes, c.Limits.Causes...), c.Limits.Looked
	}
	o.Add("lines", lines)
	o.Add("seconds", t.Seconds)
	o.Add("due", t.Due)
	o.Add("not_sent", c.NotSent)
	o.Add("writes_per_second", t.PerSecond)
	o.Add("slowest_seconds", c.Slowest)
	o.Add("stddev_seconds", c.Spread)
	o.Add("response_seconds", analyze.SecondsOf(t.ResponseTime.Summary)) // percentiles that are known
	o.Add("service_seconds", analyze.SecondsOf(t.ServiceTime.Summary))
	o.Add("errors", c.ByError)
	o.Add("causes", causes)
	if len(looked) > 0 {
		o.Add("looked_at", looked)
	}
	o.Add("cleanup", t.Cleanup)
	return writeJSON(w, o)
}

// checkOf is the beginning of a check of a cluster.
func checkOf(check, load string, t *record.Trial) (o record.Object) {
	o.Add("check", check)
	o.Add("load", load)
	o.Add("store", t.Store)
	o.Add("version", t.Version)
	if len(t.Absent) > 0 {
		o.Add("absent_members", t.Absent)
	}
	if names := t.Roles.WithoutVote(); len(names) > 0 {
		o.Add("without_vote", names)
	}
	return o
}

// checkState is pass, fail or interrupted.
func checkState(t *record.Trial, pass bool) string {
	switch {
	case t.State == record.Interrupted:
		return "interrupted"
	case pass && t.Cleanup.Err() == nil:
		return "pass"
	}
	return "fail"
}

// ScaleCheckJSON writes a check of what keys cost as one object.
func ScaleCheckJSON(w io.Writer, c *analyze.ScaleCheck, load string) error {
	t := c.Trial
	o := checkOf("datascale", load, t)
	o.Add("keys", t.Total)
	o.Add("clients", t.Clients)
	o.Add("seed", t.Seed)
	o.Add("state", checkState(t, c.Pass))
	o.Add("written", t.Operations)
	o.Add("seconds", t.Seconds)
	o.Add("writes_per_second", t.PerSecond)
	o.Add("service_seconds", analyze.SecondsOf(t.ServiceTime.Summary))
	var members []record.Object // null without any
	for i := range c.Members {
		m, one := &c.Members[i], record.Object{}
		one.Add("name", m.Name)
		one.Add("endpoint", m.Endpoint)
		for _, of := range []struct {
			name string
			analyze.Growth
		}{{"memory_bytes_", m.Memory}, {"database_bytes_", m.Disk}} {
			if of.Known {
				one.Add(of.name+"before", of.Before)
				one.Add(of.name+"after", of.After)
			}
		}
		if m.Unread != "" {
			one.Add("unread", m.Unread)
		}
		members = append(members, one)
	}
	o.Add("members", members)
	o.Add("errors", c.ByError)
	o.Add("cleanup", t.Cleanup)
	return writeJSON(w, o)
}
