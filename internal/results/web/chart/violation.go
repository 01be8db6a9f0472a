package chart

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

const (
	rowHeight = 34 // of an operation and what it did, above it
	mostRows  = 16 // more than any violation has
)

// Violation draws the smallest history that shows a wrong answer: a bar for each
// operation, from when it was sent until its answer was read, in the colour of the
// member that answered; the wrong answer's has a colour of its own.
func Violation(name string, v *record.Violation) (Chart, bool) {
	if len(v.Operations) == 0 {
		return Chart{}, false
	}
	all := v.Operations[:min(len(v.Operations), mostRows)]
	from, to := all[0].From, all[0].To
	var members []string
	for i := range all {
		o := &all[i]
		from, to = min(from, o.From), max(to, o.To)
		if who := o.Who(); !slices.Contains(members, who) {
			members = append(members, who)
		}
	}
	c := canvas{height: rowHeight * len(all)}
	out := Chart{Name: name, Title: v.Title(), height: c.height + axisHeight}
	s := linear(float64(to)-float64(from), measure.Nanoseconds)
	place := func(at int64) float64 { return s.place(float64(at) - float64(from)) }
	c.begin(out.Title, axisHeight)
	c.f(`<g class="y">`)
	for i := range all {
		who := "client"
		if all[i].Watcher {
			who = "watcher"
		}
		c.f(`<text x="-6" y="%d" dy=".32em">%s %d</text>`, rowHeight*i+24, who, all[i].Client)
	}
	c.f(`</g>`)
	c.plot(0, plotWidth)
	for i := range all {
		o := &all[i]
		class, says := Series(slices.Index(members, o.Who())), o.What
		if i < len(v.History) {
			says = v.History[i]
		}
		if o.Bad {
			class = "none"
		}
		x := plotWidth * place(o.From)
		c.f(`<path class="%s mark" d="M%s %dh%s"><title>%s</title></path>`, class, num3(x), rowHeight*i+24, num3(plotWidth*place(o.To)-x), svgText(says))
	}
	c.endPlot()
	for i := range all {
		o := &all[i]
		c.f(`<text class="legend" x="%s" y="%d">%s</text>`, share(min(place(o.From), 0.7)), rowHeight*i+14, svgText(o.What))
	}
	c.horizontal(s.ticks, 0, s.most)
	out.SVG = c.end()
	for i, who := range members {
		if who == "" {
			who = "no member is known to have answered"
		}
		out.Legend = append(out.Legend, Entry{who, Series(i)})
	}
	out.Legend = append(out.Legend, Entry{"the wrong answer", "none"})
	out.Notes = []string{fmt.Sprintf("Time runs from %s of the history on. %s", text.Duration(float64(from)), v.Why)}
	return out, true
}
