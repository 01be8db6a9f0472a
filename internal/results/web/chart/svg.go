package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// svgText escapes text for SVG.
func svgText(s string) string { return html.EscapeString(s) }

// svg writes the picture as SVG, with a title for screen readers.
func (c *canvas) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" xmlns="http://www.w3.org/2000/svg" width="100%%" height="%d" role="img" overflow="visible"><title>%s</title>`, c.height+axisHeight, svgText(c.title))
	if c.about != "" {
		fmt.Fprintf(&b, `<desc>%s</desc>`, svgText(c.about))
	}
	for i := range c.shapes {
		c.writeShape(&b, &c.shapes[i])
	}
	b.WriteString(`</svg>`)
	return b.String()
}

func (c *canvas) writeShape(b *strings.Builder, s *shape) {
	switch s.kind {
	case startGroup:
		fmt.Fprintf(b, `<g class="%s">`, s.class)
	case endGroup:
		b.WriteString(`</g>`)
	case startPlot:
		fmt.Fprintf(b, `<svg class="plot" width="100%%" height="%d" viewBox="%s 0 %s %d" preserveAspectRatio="none">`, c.height, s.x.text, s.xEnd.text, c.height)
	case endPlot:
		b.WriteString(`</svg>`)
	case drawPath:
		fmt.Fprintf(b, `<path class="%s" d="%s"`, s.class, s.path.text)
		if s.text == "" {
			b.WriteString(`/>`)
		} else {
			fmt.Fprintf(b, `><title>%s</title></path>`, svgText(s.text))
		}
	case drawShade:
		fmt.Fprintf(b, `<rect class="%s" x="%s" width="%s" height="%d"/>`, s.class, s.x.text, s.xEnd.text, c.height)
	case drawRule:
		fmt.Fprintf(b, `<line x2="100%%" y1="%s" y2="%s"/>`, s.y.text, s.y.text)
	case drawLabel:
		fmt.Fprintf(b, `<text x="-6" y="%s" dy=".32em">%s</text>`, s.y.text, svgText(s.text))
	case drawLane:
		fmt.Fprintf(b, `<text x="2" y="%s">%s</text>`, s.y.text, svgText(s.text))
	case drawWords:
		class := "legend"
		if s.class != "" {
			class = s.class
		}
		fmt.Fprintf(b, `<text class="%s" x="%s" y="%s">%s</text>`, class, s.x.text, s.y.text, svgText(s.text))
	case drawTick:
		class := ""
		if s.class != "" {
			class = ` class="` + s.class + `"`
		}
		fmt.Fprintf(b, `<line x1="%s" x2="%s" y1="%d" y2="%d"/><text x="%s" y="%d"%s>%s</text>`, s.x.text, s.x.text, c.height, c.height+tickLength, s.x.text, c.height+tickLabel, class, svgText(s.text))
	}
}

// File returns the chart as the content of a separate SVG file, with title and legend. The title
// begins with subject. styleSheet is the CSS for charts.
func (c *Chart) File(subject, styleSheet string) string {
	var b strings.Builder
	width, height, top := c.fileSize()
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d"><style>%s</style><rect class="paper" width="100%%" height="100%%"/>`,
		width, height, width, height, styleSheet)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="%d">%s</text>`, fileLeft, titleTop, svgText(subject+": "+c.Title))
	samples, _ := c.legend()
	for _, s := range samples {
		if s.IsKey() {
			fmt.Fprintf(&b, `<rect class="key" x="%s" y="%d" width="%d" height="%d"/><text class="legend" x="%s" y="%d">%s</text>`, num(s.x).text, s.y-keyHeight/2, sampleWidth, keyHeight, num(s.x+sampleGap).text, s.y+4, svgText(s.Name))
			continue
		}
		fmt.Fprintf(&b, `<path class="%s l" d="M%s %dh%d"/><text class="legend" x="%s" y="%d">%s</text>`, s.Class, num(s.x).text, s.y, sampleWidth, num(s.x+sampleGap).text, s.y+4, svgText(s.Name))
	}
	b.WriteString(strings.Replace(c.SVG, `width="100%"`, fmt.Sprintf(`x="%d" y="%d" width="%d"`, fileLeft, top, fileWidth), 1))
	b.WriteString("</svg>\n")
	return b.String()
}

// fileSize returns the size of the chart's file, and the vertical position of the chart in it.
func (c *Chart) fileSize() (width, height, top int) {
	_, rows := c.legend()
	top = fileTop + legendRow*(rows-1)
	return fileWidth + fileLeft + 24, c.canvas.height + axisHeight + top + 24, top
}

// sample is a series in the legend of a file.
type sample struct {
	Entry
	x float64
	y int
}

// legend arranges the series of the chart in as many rows as they need in a file.
func (c *Chart) legend() (samples []sample, rows int) {
	const between, letter = 17, 6.5 // the width of a letter is an estimate that suits most letters
	x, y := float64(fileLeft), 31
	rows = 1
	for i, e := range c.Legend {
		wide := sampleGap + between + letter*math.Max(float64(len([]rune(e.Name))), 1)
		if i > 0 && x+wide > fileLeft+fileWidth {
			x, y = fileLeft, y+legendRow
			rows++
		}
		samples = append(samples, sample{e, x, y})
		x += wide
	}
	return samples, rows
}

// Series returns the class for the n-th series. There are eight classes.
func Series(n int) string { return "s" + strconv.Itoa(n%8) }
