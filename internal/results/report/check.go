package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// PerfCheck reports the result of `check perf` for the load with the given name. It uses the labels
// of `etcdctl check perf`.
func PerfCheck(c *limits.PerfCheck, load string, verbose bool) Finding {
	return Finding{
		parts:  func(out layout) { perfParts(out, c, verbose) },
		object: func() any { return perfObject(c, load) },
	}
}

func perfParts(out layout, c *limits.PerfCheck, verbose bool) {
	t := c.Trial
	cleanupParts(out, t.Cleanup)
	switch {
	case t.State == record.Interrupted && t.Seconds == 0:
		out.addLines("INTERRUPTED before one second was measured")
	case t.State == record.Interrupted:
		out.addLines(fmt.Sprintf("INTERRUPTED after %s: %.0f writes/s, slowest %fs", text.FixedSeconds(t.Seconds, 1), t.PerSecond, c.Slowest))
	default:
		perfResult(out, c, verbose)
	}
}

// withoutVote lists the members without a vote, which receive no load.
func withoutVote(out layout, t *record.Trial) {
	for _, name := range t.Roles.NonVoters() {
		out.addLines(fmt.Sprintf("Member %s has no vote and received no load.", name))
	}
}

func perfResult(out layout, c *limits.PerfCheck, verbose bool) {
	t := c.Trial
	withoutVote(out, t)
	outcomes(out, c.Lines...)
	absentParts(out, t)
	if c.NotSent > 0 {
		out.addLines(fmt.Sprintf("%s writes were not sent, because the limit of %d operations in flight was reached", text.Count(c.NotSent), t.MaxInFlight))
	}
	if verbose {
		out.addLines("Response time (from due): "+t.ResponseTime.PercentilesText(),
			"Service time (from sent): "+t.ServiceTime.PercentilesText())
	}
	switch causes := c.Limits.Causes; {
	case c.Pass && verbose:
		listSection(out, "Measured:", c.Limits.Evidence)
	case c.Pass && c.Disk != "":
		listSection(out, "Measured:", []string{c.Disk})
	case c.Pass:
	case len(causes) == 0:
		listSection(out, "The measured figures do not explain the slow operations:", c.Limits.Evidence)
	default:
		out.addLines("Bottlenecks:")
		for _, cause := range causes {
			out.addLines(fmt.Sprintf("  %s: %s", cause.Kind, cause.Text))
		}
		listSection(out, "Measured:", c.Limits.Evidence)
	}
	switch {
	case c.UndecidedReason != "":
		outcomes(out, "NOT KNOWN: "+c.UndecidedReason)
	case c.Pass && t.Cleanup.Err() == nil:
		outcomes(out, "PASS")
	default:
		outcomes(out, "FAIL")
	}
}

// outcomes adds lines. If a line begins with the outcome of a check, the outcome has a tone.
func outcomes(to layout, lines ...string) {
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "PASS"):
			to.accented(line, "PASS", text.Good)
		case strings.HasPrefix(line, "FAIL"):
			to.accented(line, "FAIL", text.Bad)
		case strings.HasPrefix(line, "NOT KNOWN"):
			to.accented(line, "NOT KNOWN", text.Doubtful)
		default:
			to.addLines(line)
		}
	}
}

// absentParts lists the members that did not respond before the load.
func absentParts(out layout, t *record.Trial) {
	for _, m := range t.Absent {
		out.addLines(m.String())
	}
}

func listSection(out layout, head string, lines []string) {
	out.addLines(head)
	out.addLines(indented(lines)...)
}

// cleanupParts reports the result of a clean-up with the wording of etcdctl, and the reclaimed disk
// space.
func cleanupParts(out layout, c *record.Cleanup) {
	if c == nil {
		return
	}
	if c.Failure != "" {
		outcomes(out, fmt.Sprintf("FAIL: Cleanup failed during key deletion: ERROR(%s)", c.Failure))
		return
	}
	if c.Revision > 0 {
		out.addLines(fmt.Sprintf("Compacting with revision %d", c.Revision), fmt.Sprintf("Compacted with revision %d", c.Revision))
	}
	for _, s := range c.Space {
		if s.Defragmented {
			out.addLines(fmt.Sprintf("Defragmenting %q", s.Endpoint), fmt.Sprintf("Defragmented %q", s.Endpoint))
		}
	}
	if c.Revision > 0 || c.Defragmented() {
		for _, s := range c.Space {
			out.addLines(fmt.Sprintf("Space of member %s: %s before, %s after, %s reclaimed", s.Member,
				bytesOf(s.Before), bytesOf(s.After), bytesOf(s.FreedBytes())))
		}
	}
	if c.NotReclaimed != "" {
		outcomes(out, fmt.Sprintf("FAIL: The keys were removed, but the disk space was not freed: ERROR(%s)", c.NotReclaimed))
	}
}

// ScaleCheck reports how much memory and disk space the members need for many keys. It uses the
// labels of `etcdctl check datascale`.
func ScaleCheck(c *limits.ScaleCheck, load string, verbose bool) Finding {
	return Finding{
		parts:  func(out layout) { scaleParts(out, c, verbose) },
		object: func() any { return scaleObject(c, load) },
	}
}

func scaleParts(out layout, c *limits.ScaleCheck, verbose bool) {
	t := c.Trial
	cleanupParts(out, t.Cleanup)
	switch {
	case t.State == record.Interrupted:
		out.addLines(fmt.Sprintf("INTERRUPTED after %s: %s keys were written", text.FixedSeconds(t.Seconds, 1), text.Count(t.Operations)))
	case len(c.Members) > 0:
		scaleResult(out, c, verbose)
	}
}

func scaleResult(out layout, c *limits.ScaleCheck, verbose bool) {
	t, first := c.Trial, &c.Members[0]
	withoutVote(out, t)
	outcomes(out, c.Lines...)
	if len(c.ByError) == 0 {
		outcomes(out, fmt.Sprintf("PASS: Approximate system memory used : %.2f MB.", first.Memory.MB()))
	}
	absentParts(out, t)
	for i := range c.Members {
		m := &c.Members[i]
		out.addLines(fmt.Sprintf("Member %s: memory %s; database %s", m.Name, growthText(m.Memory, t.Operations, m.UnreadReason), growthText(m.Disk, t.Operations, "")))
	}
	if first.Memory.Increase() < 0 {
		out.addLines(fmt.Sprintf("Member %s uses less memory than before the load, because it released memory that earlier work had used. So this figure does not show how much memory the keys need. Restart the member, then repeat the check.", first.Name))
	}
	out.addLines(fmt.Sprintf("%s keys in %s: %s", text.Count(t.Operations), text.FixedSeconds(t.Seconds, 1), text.PerSecond(t.PerSecond)))
	out.addLines(fmt.Sprintf("Service time: %s", t.ServiceTime.PercentilesText()))
	if verbose {
		out.addLines(fmt.Sprintf("Slowest %s, mean %s", t.ServiceTime.Max.Text(), t.ServiceTime.Mean.Text()))
	}
}

// growthText describes a figure before and after the load, and its growth per key. If the figure is
// not known, growthText returns unknownReason, or "unknown" if unknownReason is empty.
func growthText(c limits.Growth, keys uint64, unknownReason string) string {
	switch {
	case !c.Known && unknownReason == "":
		return "unknown"
	case !c.Known:
		return unknownReason
	}
	words := fmt.Sprintf("%s before, %s after", bytesOf(c.Before), bytesOf(c.After))
	if each, ok := c.PerKey(keys); ok {
		words += fmt.Sprintf(", %.0f bytes per key", each)
	}
	return words
}

func bytesOf(n int64) string { return text.Bytes(uint64(max(n, 0))) }

// DiskCheck reports the times of a disk, and whether they meet the requirements of each store.
func DiskCheck(c *limits.DiskCheck) Finding {
	return Finding{
		parts:  func(out layout) { diskParts(out, c) },
		object: func() any { return diskObject(c) },
	}
}

func diskParts(out layout, c *limits.DiskCheck) {
	out.addLines(fmt.Sprintf("%s: %s records of %s, each synced before the next was written, in %s: %s", c.Dir, text.Count(uint64(c.Records)),
		text.FormatSize(c.RecordBytes), text.Duration(c.NS()), text.PerSecond(c.PerSecond())))
	out.addLines(fmt.Sprintf("File system: %s", c.FileSystem))
	if !c.Durable {
		out.addLines("The file system is not durable: it loses its data at a power loss, and fdatasync has no effect. So this check did not measure a disk.")
	}
	for _, line := range c.Times() {
		out.addLines(fmt.Sprintf("%s: p50 %s, p99 %s, p99.9 %s, max %s", line.Name, line.Percentile(50).Text(), line.Percentile(99).Text(),
			line.Percentile(99.9).Text(), line.Max.Text()))
	}
	for _, o := range groupByOpinion(c.Opinions) {
		word := "PASS"
		switch {
		case o.Unknown():
			word = "NOT KNOWN"
		case !o.Pass:
			word = "FAIL"
		}
		outcomes(out, fmt.Sprintf("%s: %s: %s", word, o.Store, o.Text))
	}
}

// groupByOpinion combines entries with the same text into one entry that lists all their stores.
// Stores have the same text if they use the same server.
func groupByOpinion(list []limits.DiskOpinion) (out []limits.DiskOpinion) {
	for _, o := range list {
		at := slices.IndexFunc(out, func(g limits.DiskOpinion) bool { return g.Text == o.Text })
		if at < 0 {
			out = append(out, o)
			continue
		}
		out[at].Store += ", " + o.Store
	}
	return out
}

func diskObject(c *limits.DiskCheck) (o record.Object) {
	o.Add("check", "disk")
	o.Add("dir", c.Dir)
	o.Add("record_bytes", c.RecordBytes)
	o.Add("records", c.Records)
	o.Add("seconds", c.Seconds)
	o.Add("records_per_second", c.PerSecond())
	o.Add("file_system", c.FileSystem)
	o.Add("durable", c.Durable)
	o.Add("fdatasync_seconds", c.Sync.PercentilesAndMaxInSeconds())
	o.Add("write_and_fdatasync_seconds", c.WriteAndSync.PercentilesAndMaxInSeconds())
	var stores []record.Object // null if there are none
	for i := range c.Opinions {
		of, one := &c.Opinions[i], record.Object{}
		one.Add("store", of.Store)
		one.Add("pass", of.Pass)
		one.Add("known", of.Known)
		one.Add("seconds", numberOrNil(of.Figure, of.Known))
		one.Add("limit_seconds", of.Rule.Limit.Seconds())
		one.Add("text", of.Text)
		stores = append(stores, one)
	}
	o.Add("stores", stores)
	return o
}

func perfObject(c *limits.PerfCheck, load string) record.Object {
	t := c.Trial
	o := newCheckObject("perf", load, t)
	o.Add("members", t.Members)
	o.Add("target", t.Target.String())
	o.Add("rate", t.Rate)
	o.Add("clients", t.MaxInFlight)
	o.Add("connections", t.Connections)
	o.Add("duration_seconds", t.Duration.Seconds())
	o.Add("seed", t.Seed)
	if o.Add("state", checkState(t, c.Pass)); c.UndecidedReason != "" {
		o.Add("not_known", c.UndecidedReason)
	}
	lines, causes, looked := c.Lines, []limits.Cause{}, []string(nil)
	if t.State == record.Interrupted {
		lines = nil
	} else if !c.Pass {
		causes, looked = append(causes, c.Limits.Causes...), c.Limits.Evidence
	}
	o.Add("lines", lines)
	o.Add("seconds", t.Seconds)
	o.Add("due", t.Due)
	o.Add("not_sent", c.NotSent)
	o.Add("writes_per_second", t.PerSecond)
	o.Add("slowest_seconds", c.Slowest)
	o.Add("stddev_seconds", c.Spread)
	o.Add("response_seconds", t.ResponseTime.PercentilesInSeconds()) // contains only the percentiles that are known
	o.Add("service_seconds", t.ServiceTime.PercentilesInSeconds())
	o.Add("errors", c.ByError)
	o.Add("causes", causes)
	if len(looked) > 0 {
		o.Add("looked_at", looked)
	}
	o.Add("cleanup", t.Cleanup)
	return o
}

// newCheckObject returns the first fields of a JSON object about a check. All checks of a cluster
// begin with these fields.
func newCheckObject(check, load string, t *record.Trial) (o record.Object) {
	o.Add("check", check)
	if load != "" {
		o.Add("load", load)
	}
	o.Add("store", t.Store)
	o.Add("version", t.Version)
	if len(t.Absent) > 0 {
		o.Add("absent_members", t.Absent)
	}
	if names := t.Roles.NonVoters(); len(names) > 0 {
		o.Add("without_vote", names)
	}
	return o
}

// checkState returns "pass", "fail" or "interrupted".
func checkState(t *record.Trial, pass bool) string {
	switch {
	case t.State == record.Interrupted:
		return "interrupted"
	case pass && t.Cleanup.Err() == nil:
		return "pass"
	}
	return "fail"
}

func scaleObject(c *limits.ScaleCheck, load string) record.Object {
	t := c.Trial
	o := newCheckObject("datascale", load, t)
	o.Add("keys", t.Total)
	o.Add("clients", t.Clients)
	o.Add("seed", t.Seed)
	o.Add("state", checkState(t, c.Pass))
	o.Add("written", t.Operations)
	o.Add("seconds", t.Seconds)
	o.Add("writes_per_second", t.PerSecond)
	o.Add("service_seconds", t.ServiceTime.PercentilesInSeconds())
	var members []record.Object // null if there are none
	for i := range c.Members {
		m, one := &c.Members[i], record.Object{}
		one.Add("name", m.Name)
		one.Add("endpoint", m.Endpoint)
		for _, of := range []struct {
			name string
			limits.Growth
		}{{"memory_bytes_", m.Memory}, {"database_bytes_", m.Disk}} {
			if of.Known {
				one.Add(of.name+"before", of.Before)
				one.Add(of.name+"after", of.After)
			}
		}
		if m.UnreadReason != "" {
			one.Add("unread", m.UnreadReason)
		}
		members = append(members, one)
	}
	o.Add("members", members)
	o.Add("errors", c.ByError)
	o.Add("cleanup", t.Cleanup)
	return o
}
