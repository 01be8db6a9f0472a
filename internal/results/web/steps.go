package web

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// steps is a chart of all ladders with a closed loop, or of all ladders with an open loop.
type steps struct {
	chart.Chart
	spots [][]stepSpot
}

// stepSpot describes a ladder step in a chart for the script: its position and its text.
type stepSpot struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Text string  `json:"t"`
}

const stepsNote = "Upper line: p99. Thin line: p50. Ring: knee. Pale: steps that do not count for the knee and the Universal Scalability Law. If throughput falls while times rise, the store is overloaded."

// stepsOf draws the ladders, with separate charts for closed and open loops. The number of ladders
// in a chart is limited, so that readers can distinguish them.
func stepsOf(ladders []size.Ladder) (out []steps) {
	for _, open := range []bool{false, true} {
		var of []size.Ladder
		for _, l := range ladders {
			if l.Open == open {
				of = append(of, l)
			}
		}
		var notes []string
		const most = 8
		all := len(of)
		of = of[:min(all, most)]
		for i := range of {
			notes = append(notes, of[i].Name+": "+strings.Join(report.LadderSentences(&of[i]), " "))
		}
		if all > most {
			notes = append(notes, fmt.Sprintf("Only the first %d of %d ladders are shown; the text and markdown formats contain all ladders.", most, all))
		}
		kind, axis := "closed", axisOf(ladders)
		flight := "number of clients"
		if open {
			kind, axis, flight = "open", "response time against throughput", "mean number of operations in flight"
		}
		add := func(c chart.Chart, places [][]chart.Spot, ok bool) {
			if ok {
				out = append(out, steps{c, spotsOf(of, places)})
			}
		}
		c, places, ok := chart.Steps("steps-"+kind, "Steps of "+kind+" loops: "+axis, of)
		c.Notes = append([]string{stepsNote}, notes...)
		add(c, places, ok)
		c, places, ok = chart.Scaling("scaling-"+kind, "Steps of "+kind+" loops: throughput against the "+flight, of)
		c.Notes = []string{"Dashed: Universal Scalability Law, shown if it fits the steps that are not pale."}
		add(c, places, ok)
	}
	return out
}

// axisOf returns the names of the axes for charts of closed loops. The name of the vertical axis is
// the kind of time that the ladders show.
func axisOf(ladders []size.Ladder) string {
	axis := ""
	for _, l := range ladders {
		for i := range l.Steps {
			words := l.Steps[i].Row.HeadlineTime().Phrase()
			switch {
			case l.Open || words == axis:
			case axis == "":
				axis = words
			default:
				return "service or response time against throughput"
			}
		}
	}
	return cmp.Or(axis, record.Service.Phrase()) + " against throughput"
}

func spotsOf(ladders []size.Ladder, places [][]chart.Spot) [][]stepSpot {
	out := make([][]stepSpot, len(places))
	for i := range places {
		out[i] = []stepSpot{}
		for _, at := range places[i] {
			out[i] = append(out[i], stepSpot{at.X, at.Y, report.StepText(&ladders[i].Steps[at.Step])})
		}
	}
	return out
}
