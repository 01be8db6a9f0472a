package chart

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Clients draws a bar for each client of a closed loop, in ascending order. The height of a bar is
// the number of operations that the client completed. The tooltip also shows this number. A line
// shows the mean. If the store serves all clients evenly, all bars end at this line.
func Clients(curve *analyze.ClientsCurve) Chart {
	c := canvas{title: "Operations by client", height: plotHeight}
	most := curve.Mean
	for _, n := range curve.Operations {
		most = math.Max(most, float64(n))
	}
	s := linear(most, measure.Number)
	c.vertical(&s)
	const width = 100
	class, even := Series(0), Series(1)
	c.plot(0, float64(width*len(curve.Operations)), func() {
		var steps, mean outline
		for i, n := range curve.Operations {
			x, y := num(float64(width*i)), c.y(&s, float64(n))
			steps.next(x, y)
			steps.lineAlong(num(width))
			var bar outline
			bar.move(x, y)
			bar.lineAlong(num(width))
			bar.lineToY(num(float64(c.height)))
			bar.lineAlong(num(-width))
			bar.end()
			c.path("bar", &bar, text.Plural(n, "operation"))
		}
		mean.move(num(0), c.y(&s, curve.Mean))
		mean.lineAlong(num(float64(width * len(curve.Operations))))
		c.path(class+" l", &steps, "")
		c.path(even+" l unsure", &mean, "")
	})
	c.horizontal([]tick{{0, "fewest operations"}, {1, "most operations"}}, 0, 1)
	return finish("clients", c, []Entry{{"operations completed", class}, {"even service", even + " unsure"}})
}
