package analyze

import (
	"fmt"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// HostsTable returns a table with a row for each host that a trial used. The table has no rows if
// all processes ran on the controller's machine.
func HostsTable(t *record.Trial) Table {
	if len(t.ByHost) == 0 {
		return Table{}
	}
	table := Table{Kind: HostsKind, CommonLoad: Label(t), Columns: []Column{{Title: "host", LeftAligned: true}, {Title: "runs", LeftAligned: true}, {Title: "clock"}, {Title: "at the end"}, {Title: "uncertainty"},
		{Title: "CPUs"}, {Title: "CPU busy"}, {Title: "CPU steal"}, {Title: "other programs"}, {Title: "sampling"}}}
	for i := range t.ByHost {
		h := &t.ByHost[i]
		row := []Cell{{Text: h.Name}, {Text: hostProcesses(h)}}
		if c := h.Clock; c != nil {
			row = append(row, Cell{Text: clockOffset(c.Before)}, Cell{Text: clockOffset(c.After)},
				FigureCell(figures.Value{Number: float64(c.WidestBoundNS), Unit: measure.Nanoseconds, Known: true}))
		} else {
			row = append(row, Cell{Text: "controller"}, Cell{Text: "controller"}, Cell{Text: text.Dash})
		}
		row = append(row, CountCell(uint64(max(h.CPUs, 0))))
		for _, share := range []*float64{h.BusyShare, h.StolenShare, h.ForeignShare, samplingShare(h, t.Seconds)} {
			v := figures.Value{}
			if share != nil {
				v = shareValue(*share)
			}
			row = append(row, FigureCell(v))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// clockOffset formats the difference between a host's clock and the controller's clock.
func clockOffset(r measure.ClockReading) string {
	way := " ahead"
	if r.AheadNS < 0 {
		way = " behind"
	}
	return text.Duration(math.Abs(float64(r.AheadNS))) + way
}

// hostProcesses describes which processes of a trial ran on a host.
func hostProcesses(h *measure.Host) string {
	switch {
	case h.HasMembers && h.GeneratesLoad:
		return "members, load"
	case h.HasMembers:
		return "members"
	}
	return "load"
}

// samplingShare returns the share of one CPU that sampling used, or nil if unknown.
func samplingShare(h *measure.Host, seconds float64) *float64 {
	if h.SamplingCPUSeconds == nil || seconds <= 0 {
		return nil
	}
	return new(*h.SamplingCPUSeconds / seconds)
}

// Clocks describes in one line how far the hosts' clocks differ from the controller's clock. It
// returns an empty string if all hosts use the controller's clock.
func Clocks(all []*record.Trial) string {
	names := map[string]bool{}
	var farthest, widest time.Duration
	least := ""
	for _, t := range all {
		for i := range t.ByHost {
			h := &t.ByHost[i]
			if h.Clock == nil {
				continue
			}
			names[h.Name] = true
			farthest = max(farthest, time.Duration(h.Clock.Before.AheadNS).Abs(), time.Duration(h.Clock.After.AheadNS).Abs())
			if bound := time.Duration(h.Clock.WidestBoundNS); bound > widest {
				widest, least = bound, h.Name
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	words := fmt.Sprintf("the clocks of %s differ by up to %s from the controller's clock, with an uncertainty of up to %s", text.Plural(uint64(len(names)), "host"), text.Duration(float64(farthest)), text.Duration(float64(widest)))
	if len(names) > 1 && least != "" {
		words += " (" + least + ")"
	}
	return words + "; all times are corrected for this difference"
}

// memberClockUncertainty returns the uncertainty of the clocks on the hosts that have members. It
// returns 0 if these hosts use the controller's clock.
func memberClockUncertainty(t *record.Trial) (uncertainty time.Duration) {
	for i := range t.ByHost {
		if h := &t.ByHost[i]; h.HasMembers && h.Clock != nil {
			uncertainty = max(uncertainty, time.Duration(h.Clock.WidestBoundNS))
		}
	}
	return uncertainty
}
