package chart

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

const (
	rowHeight = 34 // height of an operation, including the text above it
	maxRows   = 16 // limit for rows; no violation has as many operations
)

// Violation draws the smallest history that shows a wrong response. Each operation has a bar from
// the time when it was sent to the time when it was done, in the color of the member that
// responded. The wrong response has a separate color.
func Violation(name string, v *record.Violation) (Chart, bool) {
	if len(v.Operations) == 0 {
		return Chart{}, false
	}
	all := v.Operations[:min(len(v.Operations), maxRows)]
	from, to := all[0].From, all[0].To
	var members []string
	for i := range all {
		o := &all[i]
		from, to = min(from, o.From), max(to, o.To)
		if who := o.MemberName(); !slices.Contains(members, who) {
			members = append(members, who)
		}
	}
	c := canvas{title: v.Title(), height: rowHeight * len(all)}
	s := linear(float64(to)-float64(from), measure.Nanoseconds)
	place := func(at int64) float64 { return s.heightOf(float64(at) - float64(from)) }
	c.group("y", func() {
		for i := range all {
			who := "client"
			if all[i].Watcher {
				who = "watcher"
			}
			c.add(shape{kind: drawLabel, y: num(float64(rowHeight*i + 24)), text: fmt.Sprintf("%s %d", who, all[i].Client)})
		}
	})
	c.plot(0, plotWidth, func() {
		for i := range all {
			o := &all[i]
			class, says := Series(slices.Index(members, o.MemberName())), o.Description
			if i < len(v.History) {
				says = v.History[i]
			}
			if o.Wrong {
				class = "none"
			}
			x := plotWidth * place(o.From)
			var mark outline
			mark.move(num3(x), num(float64(rowHeight*i+24)))
			mark.lineAlong(num3(plotWidth*place(o.To) - x))
			c.path(class+" mark", &mark, says)
		}
	})
	for i := range all {
		o := &all[i]
		c.add(shape{kind: drawWords, x: share(min(place(o.From), 0.7)), y: num(float64(rowHeight*i + 14)), text: o.Description})
	}
	c.horizontal(s.ticks, 0, s.maximum)
	var legend []Entry
	for i, who := range members {
		if who == "" {
			who = "unknown member responded"
		}
		legend = append(legend, Entry{who, Series(i)})
	}
	legend = append(legend, Entry{"wrong response", "none"})
	return finish(name, c, legend, fmt.Sprintf("Time 0 is %s after the start of the history. %s", text.Duration(float64(from)), v.Explanation)), true
}
