package chart

import (
	"image/color"
	"strings"
)

// This file repeats the rules in chart.css for PNG. A test checks that both have the same colors.

// colors holds the colors of a theme.
type colors struct {
	background, ink, pale, rule, shade, severe, heat color.NRGBA
	series                                           [8]color.NRGBA
}

// rgb returns an opaque color.
func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xff}
}

// The themes.
var (
	light = &colors{
		background: rgb(0xffffff), ink: rgb(0x1b1f24), pale: rgb(0x5b6470), rule: rgb(0xdfe3e8), shade: color.NRGBA{0, 0, 0, 0x12}, severe: rgb(0xb3261e), heat: rgb(0x00467f),
		series: [8]color.NRGBA{rgb(0x0072b2), rgb(0xd55e00), rgb(0x009e73), rgb(0xcc79a7), rgb(0x8a6d00), rgb(0x2b2b2b), rgb(0x4ea3dc), rgb(0x7b5aa6)},
	}
	dark = &colors{
		background: rgb(0x14171a), ink: rgb(0xe7eaee), pale: rgb(0xa3adb8), rule: rgb(0x333a42), shade: color.NRGBA{0xff, 0xff, 0xff, 0x14}, severe: rgb(0xff8a80), heat: rgb(0x9bd4ff),
		series: [8]color.NRGBA{rgb(0x56b4e9), rgb(0xf58b45), rgb(0x2fc79b), rgb(0xe79cc5), rgb(0xe6c229), rgb(0xf2f2f2), rgb(0x8ab4f8), rgb(0xb79ae0)},
	}
)

// heatOpacity contains the opacity of each shade in a heat map. Shade 0 is a cell without
// operations.
var heatOpacity = [heatLevels + 1]float64{0, .22, .32, .43, .54, .66, .78, .89, 1}

// style describes how to paint a path. A fully transparent color is not painted.
type style struct {
	fill, stroke color.NRGBA
	width        float64 // width of the stroke in SVG pixels
	round        bool    // lines have round ends
	dashes       []float64
}

// style returns the style for a path with the given classes.
func (c *colors) style(classes string) (s style) {
	own, series, opacity := color.NRGBA{A: 0xff}, -1, 1.0
	all := strings.Fields(classes)
	for _, class := range all {
		switch {
		case class == "none", class == "worse":
			own = c.severe
		case class == "better", class == "same":
			own = c.ink
		case class == "unclear":
			own = c.pale
		case len(class) == 2 && class[0] == 's':
			series = int(class[1] - '0')
			own = c.series[series]
		}
	}
	c.styleMark(&s, all, own)
	line := func(width float64, dashes ...float64) {
		s.stroke, s.width, s.round, s.dashes = own, width, true, dashes
	}
	for _, class := range all {
		switch class {
		case "l":
			line(1.6, seriesDashes(series)...)
		case "mark":
			line(8)
		case "dot":
			line(7)
		case "knee":
			line(19)
			opacity = .3
		case "out":
			opacity = .4
		case "thin":
			s.width, opacity = 1, .75
		case "between":
			s.fill, s.width = faint(own, .22), 1
		case "unsure":
			if s.dashes == nil {
				s.dashes = []float64{2, 4}
			}
		case "fitted":
			s.dashes = []float64{6, 3}
			if series >= 6 {
				s.dashes = seriesDashes(series)
			}
		case "bar":
			s.fill = faint(c.series[0], .22)
		case "band":
			s.fill, opacity = c.series[0], .2
		default:
			if fill := c.cellFill(class); fill.A > 0 {
				s.fill = fill
			}
		}
	}
	s.fill, s.stroke = faint(s.fill, opacity), faint(s.stroke, opacity)
	return s
}

// styleMark sets the style of the marks that have a class of their own.
func (c *colors) styleMark(s *style, classes []string, own color.NRGBA) {
	for _, class := range classes {
		switch class {
		case "range":
			s.fill = faint(own, .18)
		case Key:
			s.fill = faint(c.ink, .18)
		case "grave":
			s.stroke, s.width, s.dashes = c.severe, 1, []float64{4, 3}
		case "unity":
			s.stroke, s.width = c.ink, 1
		case "level":
			s.stroke, s.width = c.ink, 1.5
		case "change":
			s.stroke, s.width, s.dashes = own, 1, []float64{4, 3}
		case "hole":
			s.stroke, s.width, s.round = c.background, 3.5, true
		case "interval":
			s.stroke, s.width = own, 5
		case "hatch":
			s.stroke, s.width = faint(c.pale, .45), 1
		}
	}
}

// cellFill returns the fill of a cell. The class is a letter for the color and a digit for its
// strength. For other classes, cellFill returns a transparent color.
func (c *colors) cellFill(class string) color.NRGBA {
	if len(class) != 2 || class[1] < '0' || class[1] > '9' {
		return color.NRGBA{}
	}
	level := float64(class[1] - '0')
	switch class[0] {
	case 'h':
		return faint(c.heat, heatOpacity[min(class[1]-'0', heatLevels)])
	case 'm':
		return faint(c.heat, .05*level)
	case 'b':
		return faint(c.series[0], .12*level)
	case 'w':
		return faint(c.series[1], .12*level)
	}
	return color.NRGBA{}
}

// seriesDashes returns the dashes of a series. Series 4 to 7 have dashes, so that readers can
// distinguish series without seeing colors.
func seriesDashes(series int) []float64 {
	switch series {
	case 4, 5:
		return []float64{6, 3}
	case 6, 7:
		return []float64{1.5, 3}
	}
	return nil
}

// faint returns a color with its opacity multiplied by share.
func faint(c color.NRGBA, share float64) color.NRGBA {
	c.A = uint8(float64(c.A)*share + 0.5)
	return c
}
