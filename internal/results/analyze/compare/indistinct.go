package compare

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// findIndistinctTimes finds the changes in times that were judged better or worse, but that are no
// larger than the variation between the calibration rounds on the same machine. Because a
// calibration involves no store, the machine alone can explain such a change. findIndistinctTimes
// sets a sentence for each of these changes.
func (c *Comparison) findIndistinctTimes() {
	c.indistinctSentences = nil
	for i := range c.Pairs {
		p := &c.Pairs[i]
		for k := range p.Figures {
			if text := p.indistinctSentence(&p.Figures[k]); text != "" {
				c.indistinctSentences = analyze.AppendNew(c.indistinctSentences, text)
			}
		}
	}
}

// indistinctSentence returns the sentence for one figure. It returns an empty string if the change
// was not judged better or worse, or if it is larger than the variation between the calibration
// rounds.
func (p *Pair) indistinctSentence(f *Compared) string {
	cal := p.New[0].Calibration
	word := f.Change.Judgement.Word
	if cal == nil || cal.Outdated != "" || word != stats.Better && word != stats.Worse {
		return ""
	}
	t, g := f.Figure.Times, &cal.Generator
	if t == nil || t.Prefix != "" || !f.Current.Known || !f.Base.Known {
		return ""
	}
	at50, at99 := []*record.RoundsSummary{g.ServiceP50NS, g.OneProcessorP50NS, g.TwoProcessorsP50NS}, []*record.RoundsSummary{g.ServiceP99NS, g.OneProcessorP99NS, g.TwoProcessorsP99NS}
	if p.New[0].Open() {
		at50, at99 = []*record.RoundsSummary{g.ResponseP50NS}, []*record.RoundsSummary{g.ResponseP99NS}
	}
	lowest, highest, known := record.RangeOfRounds(at99...)
	if f.Figure.Name == "p50" || !known {
		lowest, highest, _ = record.RangeOfRounds(at50...)
	}
	width := highest - lowest
	apart := math.Abs(f.Current.Number - f.Base.Number)
	if apart > width {
		return ""
	}
	return fmt.Sprintf("The %s of %s differs by %s, but the calibration of this machine with a null server varied by %s between rounds, so the machine alone may have caused the difference.",
		f.Title, p.Name, text.Duration(apart), text.Duration(width))
}
