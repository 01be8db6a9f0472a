package web

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The answer on the page of a capacity search is the interval that the search found, not a list of
// trials. A chart shades the interval, whether its upper end is known or not.
func TestPageOfASearchAnswersWithItsInterval(t *testing.T) {
	settle.SkipUnderRace(t)
	run := ladderOf(t, "searched", 3)
	found := &record.Capacity{Objective: "p99<1s", Parameter: "clusters", Level: 0.95, Lower: new(20.0), Upper: new(30.0), LowerPerSecond: 200, UpperPerSecond: new(300.0), Status: string(capacity.TimeOver), Reason: "the time was over"}
	for i := range run.Trials {
		found.Trials = append(found.Trials, record.CapacityTrial{Rate: 100 * float64(i+1), Value: 10 * float64(i+1), Purpose: string(capacity.Explore), Holds: i < 2})
	}
	run.Capacity = found
	for _, upper := range []*float64{found.Upper, nil} {
		if found.Upper = upper; upper == nil {
			found.UpperPerSecond = nil
		}
		text := pageOfRun(t, run)
		answer := text[strings.Index(text, "<h2>Overview"):strings.Index(text, "<h2>Capacity")]
		want := "20–30 (95 % interval"
		if upper == nil {
			want = "at least 20"
		}
		if !strings.Contains(answer, want) || !strings.Contains(answer, `href="#capacity-found"`) || strings.Contains(answer, "was run once") || strings.Contains(answer, "<b>put-1</b>") {
			t.Errorf("the answer is %s", answer)
		}
		files, _ := Charts(run, nil, AllCharts)
		i := slices.IndexFunc(files, func(f File) bool { return f.Name == capacityChart })
		if i < 0 || !strings.Contains(files[i].Text, `class="band"`) || !strings.Contains(files[i].Text, ">p50</text>") {
			t.Fatalf("none of the %d charts shows the interval", len(files))
		}
		if err := files[i].chart.PNG(io.Discard, files[i].subject, chart.Pixels{Scale: 0.25}); err != nil {
			t.Error(err)
		}
	}
}

// In the file of a chart, the legend has as many rows as its series need, and the plot is below
// these rows.
func TestLegendsHaveRows(t *testing.T) {
	// A chart of height 0 has 24 pixels for its axis.
	for series, want := range map[int]string{3: `height="92"`, 30: `height="177"`} {
		c := chart.Chart{Title: "many", SVG: `<svg width="100%"></svg>`}
		for range series {
			c.Legend = append(c.Legend, chart.Entry{Name: "explore-clusters-1000", Class: "s0"})
		}
		text := c.File("run", "")
		if strings.Count(text, `class="legend"`) != series || !strings.Contains(text, want) {
			t.Errorf("%d series: %s", series, text)
		}
		wellFormed(t, text)
	}
}
