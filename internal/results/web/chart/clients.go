package chart

import (
	"fmt"
	"math"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Clients draws what each client of a closed loop completed, the least first,
// beside what even service gives each. Pointing at a bar says its number.
func Clients(curve *analyze.ClientsCurve) Chart {
	c := canvas{height: plotHeight}
	title := "Operations by client"
	most := curve.Mean
	for _, n := range curve.Operations {
		most = math.Max(most, float64(n))
	}
	s := linear(most, measure.Number)
	c.begin(title, axisHeight)
	c.vertical(&s)
	const width = 100
	c.plot(0, float64(width*len(curve.Operations)))
	var steps strings.Builder
	for i, n := range curve.Operations {
		y := c.y(&s, float64(n))
		fmt.Fprintf(&steps, "L%d %sh%d", width*i, y, width)
		c.f(`<path class="bar" d="M%d %sh%dV%dh-%dz"><title>%s</title></path>`, width*i, y, width, c.height, width, svgText(text.Plural(n, "operation")))
	}
	class, even := Series(0), Series(1)
	c.f(`<path class="%s l" d="M%s"/><path class="%s l unsure" d="M0 %sh%d"/>`, class, steps.String()[1:], even, c.y(&s, curve.Mean), width*len(curve.Operations))
	c.endPlot()
	c.horizontal([]tick{{0, "the client with the fewest"}, {1, "with the most"}}, 0, 1)
	return Chart{Name: "clients", Title: title, SVG: c.end(), height: c.height + axisHeight,
		Legend: []Entry{{"operations completed", class}, {"even service", even + " unsure"}}}
}
