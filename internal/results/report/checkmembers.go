package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// MembersCheck reports the read and write times of each member, and which members are slow.
func MembersCheck(c *limits.MembersCheck) Finding {
	return Finding{
		parts:  func(out layout) { membersParts(out, c) },
		object: func() any { return membersObject(c) },
	}
}

func membersParts(out layout, c *limits.MembersCheck) {
	t := c.Trial
	cleanupParts(out, t.Cleanup)
	if t.State == record.Interrupted {
		out.addLines("INTERRUPTED after " + text.FixedSeconds(t.Seconds, 1))
		return
	}
	times := &Table{Columns: []analyze.Column{
		{Title: "member", LeftAligned: true}, {Title: "role", LeftAligned: true}, {Title: "reads p50"}, {Title: "p99"}, {Title: "max"},
		{Title: "writes p50"}, {Title: "p99"}, {Title: "max"}, {Title: "errors"},
	}}
	own := &Table{Columns: []analyze.Column{
		{Title: "member", LeftAligned: true}, {Title: "endpoint", LeftAligned: true}, {Title: "round trip"}, {Title: "fsync p99"}, {Title: "commit p99"},
	}}
	for i := range c.Members {
		m := &c.Members[i]
		name := m.Name
		if len(m.SlowReasons) > 0 {
			name += " *"
		}
		times.add(name, text.OrDash(m.Role), m.Reads.Percentile(50).Text(), m.Reads.Percentile(99).Text(), m.Reads.Max.Text(),
			m.Writes.Percentile(50).Text(), m.Writes.Percentile(99).Text(), m.Writes.Max.Text(), text.Count(m.Errors))
		own.add(name, m.Endpoint, m.RoundTrip.Text(), m.Fsync.Text(), m.Commit.Text())
	}
	out.cells(times)
	out.blank()
	out.cells(own)
	out.addLines("The first table shows the times of local reads and of writes, counted from when each operation was due. The columns \"fsync p99\" and \"commit p99\" come from the metrics of the members.")
	if slices.ContainsFunc(c.Members, func(m limits.CheckedMember) bool { return !m.Reads.Percentile(99).Known && m.Errors == 0 }) {
		out.addLines("A p99 needs 1,000 reads and 1,000 writes at each member: set a longer --duration.")
	}
	out.addLines("")
	for _, m := range t.Absent {
		out.addLines("Not measured: " + m.Reason)
	}
	outcomes(out, membersVerdict(c)...)
}

// membersVerdict returns the last lines of the report. They list the slow members, or state that no
// member is slow.
func membersVerdict(c *limits.MembersCheck) (lines []string) {
	for i := range c.Members {
		if m := &c.Members[i]; len(m.SlowReasons) > 0 {
			lines = append(lines, fmt.Sprintf("%s is slow:", m.Name))
			for _, s := range m.SlowReasons {
				lines = append(lines, "  "+s)
			}
		}
	}
	var names []string
	for i := range c.Members {
		if len(c.Members[i].SlowReasons) > 0 {
			names = append(names, c.Members[i].Name+" is slow")
		}
	}
	for _, m := range c.Trial.Absent {
		names = append(names, m.Endpoint+" does not answer")
	}
	if c.Pass {
		return []string{fmt.Sprintf("PASS: none of the %s is slower than the others", text.Plural(uint64(len(c.Members)), "member"))}
	}
	return append(lines, "FAIL: "+strings.Join(names, ", "))
}

func membersObject(c *limits.MembersCheck) (o record.Object) {
	t := c.Trial
	o = newCheckObject("members", "", t)
	o.Add("rate", t.Rate)
	o.Add("duration_seconds", t.Duration.Seconds())
	o.Add("seed", t.Seed)
	o.Add("state", checkState(t, c.Pass))
	var members []record.Object // null if there are none
	for i := range c.Members {
		m, one := &c.Members[i], record.Object{}
		one.Add("name", m.Name)
		one.Add("endpoint", m.Endpoint)
		one.Add("role", m.Role)
		one.Add("operations", m.Operations)
		one.Add("errors", m.Errors)
		one.Add("read_seconds", m.Reads.PercentilesAndMaxInSeconds())
		one.Add("write_seconds", m.Writes.PercentilesAndMaxInSeconds())
		one.Add("round_trip_seconds", m.RoundTrip.InSeconds())
		one.Add("fsync_p99_seconds", m.Fsync.InSeconds())
		one.Add("commit_p99_seconds", m.Commit.InSeconds())
		one.Add("slow", append([]string{}, m.SlowReasons...))
		members = append(members, one)
	}
	o.Add("members", members)
	o.Add("cleanup", t.Cleanup)
	return o
}
