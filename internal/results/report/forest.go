package report

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Direction returns the words that follow the name of a metric in a heading, such as ", less is
// better".
func Direction(better figures.Direction) string {
	return [...]string{figures.NoDirection: "", figures.LowerIsBetter: ", less is better", figures.HigherIsBetter: ", more is better"}[better]
}

// FormatJudgement formats the judgment of a change. If the change is unclear because of too few
// repeats, the result states how many more are needed. The result states no other reason; see
// analyze.Change.IntervalLackReason.
func FormatJudgement(c *analyze.Change) string {
	if c.IntervalLackReason != "" {
		return string(stats.Unclear)
	}
	return judgementText(c)
}

// FormatInterval formats the 95 % interval of a change. It returns a dash if the change has none.
func FormatInterval(c *analyze.Change) string {
	return cell(&analyze.Cell{Kind: analyze.ChangeIntervalCell, Change: *c})
}

// ForestTitle returns the title of a forest plot.
func ForestTitle(f *compare.Forest) string {
	title := f.Metric + ": ratio to the baseline"
	if f.Baseline != "" {
		title += " " + f.Baseline
	}
	return title + Direction(f.Better)
}

// addForests adds the forest plots of the comparisons.
func addForests(to layout, all []*compare.Comparison) {
	plots := compare.Forests(all)
	if len(plots) == 0 {
		return
	}
	for i := range plots {
		f := &plots[i]
		to.heading(ForestTitle(f))
		to.gap()
		to.block(f.Chart())
	}
	to.blank()
	to.addLines(fmt.Sprintf("● ratio; ━ 95 %% interval; ─ the wider interval that decides between better, worse, same and unclear; ○ ratio without an interval; │ no change; ░ changes within ± %s do not matter.", text.Share(plots[0].Margin)))
}
