package compare

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// A change that was judged better or worse is compared with the variation between calibration
// rounds.
func TestIndistinct(t *testing.T) {
	differ := record.SummarizeRounds(100_000, 300_000) // the rounds differ by 200 µs
	c := &record.Calibration{Generator: record.GeneratorLimits{ServiceP50NS: differ, ServiceP99NS: differ}}
	fig := func(x float64) figures.Value { return figures.Value{Number: x, Known: true} }
	now := &record.Trial{AttachedData: record.AttachedData{Calibration: c}}
	compared := func(name string, from, to float64, word stats.Word) *Compared {
		return &Compared{Title: name, Figure: figures.Registered(name), Base: fig(from), Current: fig(to), Change: analyze.Change{Judgement: stats.Judgement{Word: word}}}
	}
	p := &Pair{Name: "put", New: []*record.Trial{now}}
	const want = "The p50 of put differs by 150 µs, but the calibration of this machine with a null server varied by 200 µs between rounds, so the machine alone may have caused the difference."
	if got := p.indistinctSentence(compared("p50", 1_000_000, 1_150_000, stats.Worse)); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	for _, none := range []*Compared{
		compared("p50", 1_000_000, 1_250_000, stats.Worse), compared("p50", 1_000_000, 1_050_000, stats.Same), compared("ops", 10, 11, stats.Better), compared("p50", 1_000_000, 1_050_000, stats.Unclear),
	} {
		if got := p.indistinctSentence(none); got != "" {
			t.Errorf("%+v: %s", none, got)
		}
	}
	if p.indistinctSentence(compared("p90", 1_150_000, 1_000_000, stats.Better)) == "" {
		t.Error("indistinctSentence returns no sentence for a p90")
	}
	now.Calibration = nil
	if got := p.indistinctSentence(compared("p50", 1_000_000, 1_150_000, stats.Worse)); got != "" {
		t.Errorf("without a calibration: %s", got)
	}
}

// If changes are judged again with another margin, the sentences about the machine follow the last
// judgment.
func TestIndistinctSentencesFollowJudgement(t *testing.T) {
	differ := record.SummarizeRounds(100_000, 300_000)
	now := &record.Trial{AttachedData: record.AttachedData{Calibration: &record.Calibration{Generator: record.GeneratorLimits{ServiceP50NS: differ, ServiceP99NS: differ}}}}
	fig := func(x float64) figures.Value { return figures.Value{Number: x, Known: true} }
	ratio, ok := stats.RatioOf(stats.UndisturbedRepeats([]float64{1149, 1150, 1151}), stats.UndisturbedRepeats([]float64{999, 1000, 1001}))
	if !ok {
		t.Fatal("RatioOf returns no ratio")
	}
	c := &Comparison{Differences: []string{"The kernel differs."}, Pairs: []Pair{{Name: "put", New: []*record.Trial{now}, Figures: []Compared{
		{Title: "p50", Figure: figures.Registered("p50"), Base: fig(1_000_000), Current: fig(1_150_000), Change: analyze.Change{Interval: true, Ratio: ratio}},
	}}}}
	for _, test := range []struct {
		margin float64
		want   int
	}{{0.03, 2}, {0.03, 2}, {0.5, 1}} {
		Judge(test.margin, c)
		if got := c.DifferenceSentences(); len(got) != test.want || got[0] != "The kernel differs." {
			t.Errorf("with the margin %v, the sentences are %q, want %d", test.margin, got, test.want)
		}
	}
}
