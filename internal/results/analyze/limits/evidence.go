package limits

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// evidence lists the figures that were checked, and the figures that are missing.
func evidence(t *record.Trial, members []samples.MemberMetrics) (out []string) {
	alarms := map[string]int{}
	for i := range t.ByMember {
		alarms[t.ByMember[i].Endpoint] = len(t.ByMember[i].Alarms)
	}
	for i := range members {
		m := &members[i]
		parts := append(reportedFigures(m), text.Plural(uint64(alarms[m.Endpoint]), "alarm"))
		out = append(out, "member "+m.Name+": "+strings.Join(parts, ", "))
	}
	if line := diskEvidence(t); line != "" {
		out = append(out, line)
	}
	out = append(out, fmt.Sprintf("load: longest time without a response %s, %d %s not sent",
		durationText(measure.ToDuration(t.LongestGap)), t.ErrorsByKind["not_sent"], operationsOf(t)))
	ours := "load generator: longest pause " + durationText(time.Duration(t.LongestPauseNS))
	if t.Seconds > 0 && t.Loops > 0 {
		ours += ", event loops busy " + text.Share(min(float64(t.LoopCPUNS)/1e9/t.Seconds/float64(t.Loops), 1))
	}
	if t.BusyShare != nil {
		ours += ", machine busy " + text.Share(*t.BusyShare)
	}
	return append(out, ours)
}

// diskEvidence describes the result of the disk probe that dataFolder returns. It returns an empty
// string if there is none.
func diskEvidence(t *record.Trial) string {
	d, where, _ := dataFolder(t)
	what, took, ok := fdatasync(d)
	if !ok {
		return ""
	}
	kept := ""
	if d.Volatile {
		kept = ", lost at power loss"
	}
	return fmt.Sprintf("%s (%s%s): fdatasync %s %s", where, d.FileSystem, kept, what, durationText(took))
}

// operationsOf returns "writes" if the load consists of puts, and otherwise "operations".
func operationsOf(t *record.Trial) string {
	if t.Operation == "put" {
		return "writes"
	}
	return "operations"
}

// reportedFigures lists the figures that a member reported in the window.
func reportedFigures(m *samples.MemberMetrics) (parts []string) {
	for _, timer := range []struct {
		metric store.Metric
		name   string
	}{{store.FsyncSeconds, "fsync"}, {store.CommitSeconds, "commit"}, {store.PeerRoundTripSeconds, "round trip to other members"}} {
		if how, took, ok := slowness(m.Metrics[timer.metric]); ok {
			parts = append(parts, fmt.Sprintf("%s %s %s", timer.name, how, durationText(took)))
		}
	}
	if r, ok := m.Metrics[store.CPUSeconds]; ok && m.Seconds > 0 {
		part := fmt.Sprintf("%.2f CPUs used", r.Value/m.Seconds)
		if n := m.Metrics[store.Processors].Value; n > 0 {
			part += fmt.Sprintf(" of %.0f", n)
		}
		parts = append(parts, part)
	}
	if m.ConnectAttempts > m.FailedConnects {
		parts = append(parts, "TCP connect median "+durationText(m.ConnectTimes.Median))
	}
	if m.Metrics == nil {
		reason := m.UnreadReason
		if reason == "" {
			reason = "no status request in the window"
		}
		return append(parts, "no metrics ("+reason+")")
	}
	if r, ok := m.Metrics[store.LeaderChanges]; ok {
		parts = append(parts, text.Plural(uint64(max(r.Value, 0)), "leader change"))
	}
	return parts
}
