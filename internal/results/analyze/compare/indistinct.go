package compare

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// findIndistinct says of changes of times that were called better or worse where they
// are no larger than what rounds without a store differ by on the machine.
func (c *Comparison) findIndistinct() {
	for i := range c.Pairs {
		p := &c.Pairs[i]
		for k := range p.Figures {
			if text := p.indistinct(&p.Figures[k]); text != "" {
				c.Differences = analyze.AppendNew(c.Differences, text)
			}
		}
	}
}

// indistinct is such a sentence about one figure; empty where there is none to say.
func (p *Pair) indistinct(f *Compared) string {
	cal := p.New[0].Calibration
	word := f.Change.Judged.Word
	if cal == nil || cal.Outdated != "" || word != stats.Better && word != stats.Worse {
		return ""
	}
	t, g := f.Figure.Times, &cal.Generator
	if t == nil || t.Prefix != "" || !f.Now.Known || !f.Base.Known {
		return ""
	}
	at50, at99 := []*record.OfRounds{g.ServiceP50NS, g.OneProcessorP50NS, g.TwoProcessorsP50NS}, []*record.OfRounds{g.ServiceP99NS, g.OneProcessorP99NS, g.TwoProcessorsP99NS}
	if p.New[0].Open() {
		at50, at99 = []*record.OfRounds{g.ResponseP50NS}, []*record.OfRounds{g.ResponseP99NS}
	}
	lowest, highest, known := record.Reach(at99...)
	if f.Figure.Name == "p50" || !known {
		lowest, highest, _ = record.Reach(at50...)
	}
	width := highest - lowest
	apart := math.Abs(f.Now.Number - f.Base.Number)
	if apart > width {
		return ""
	}
	return fmt.Sprintf("The %s of %s differs by %s, and what this machine measures with no store behind differed by %s from round to round (its calibration): a difference so small can be the machine's.",
		f.Title, p.Name, text.Duration(apart), text.Duration(width))
}
