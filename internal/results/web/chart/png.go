package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
)

// Pixels holds the options for a chart in PNG format.
type Pixels struct {
	Scale float64 // number of pixels per SVG pixel
	Dark  bool    // use the colors of the dark theme
}

// PNG draws the same picture as File, for slides and for programs that cannot show SVG. Its text
// uses the Go fonts. A character that is not in these fonts appears as a box.
func (c *Chart) PNG(w io.Writer, subject string, p Pixels) error {
	width, height, top := c.fileSize()
	scaled := func(n int) int { return int(math.Ceil(p.Scale * float64(n))) }
	d := &drawing{context: gg.NewContext(scaled(width), scaled(height)), scale: p.Scale, colors: light, faces: map[fontStyle]font.Face{}}
	if p.Dark {
		d.colors = dark
	}
	page := view{sx: p.Scale, sy: p.Scale}
	d.context.DrawRectangle(0, 0, p.Scale*float64(width), p.Scale*float64(height))
	d.paint(style{fill: d.colors.background})
	d.text(page, fontStyle{size: 14, bold: true}, d.colors.ink, start, fileLeft, titleTop, subject+": "+c.Title)
	samples, _ := c.legend()
	for _, s := range samples {
		var o outline
		if s.IsKey() {
			o.rectangle(s.x, float64(s.y-keyHeight/2), sampleWidth, keyHeight)
			d.path(page, s.Class, &o)
		} else {
			o.move(num(s.x), num(float64(s.y)))
			o.lineAlong(num(sampleWidth))
			d.path(page, s.Class+" l", &o)
		}
		d.text(page, legendFont, d.colors.ink, start, num(s.x+sampleGap).value, float64(s.y+4), s.Name)
	}
	chart := view{sx: p.Scale, sy: p.Scale, tx: p.Scale * fileLeft, ty: p.Scale * float64(top)}
	d.picture(&c.canvas, chart)
	if d.fontError != nil {
		return d.fontError
	}
	return d.context.EncodePNG(w)
}

// view maps coordinates of an inner picture to pixels: sx*x + tx.
type view struct{ sx, sy, tx, ty float64 }

func (v *view) transform(x, y float64) (px, py float64) { return v.sx*x + v.tx, v.sy*y + v.ty }

// drawing is a PNG that is being drawn.
type drawing struct {
	context   *gg.Context
	scale     float64
	colors    *colors
	faces     map[fontStyle]font.Face
	fontError error
}

// fontStyle holds the size of a font in SVG pixels, and its weight.
type fontStyle struct {
	size float64
	bold bool
}

// The letters for labels and for the names of series.
var (
	labelFont  = fontStyle{size: 11}
	legendFont = fontStyle{size: 12}
)

// picture draws the shapes on a canvas.
func (d *drawing) picture(c *canvas, chart view) {
	inner := chart
	for i := range c.shapes {
		s := &c.shapes[i]
		x, y := fileWidth*s.x.value, s.y.value
		switch s.kind {
		case startPlot:
			inner.sx = chart.sx * fileWidth / s.xEnd.value
			inner.tx = chart.tx - inner.sx*s.x.value
			left, top := inner.transform(s.x.value, 0)
			d.context.DrawRectangle(left, top, inner.sx*s.xEnd.value, inner.sy*float64(c.height))
			d.context.Clip()
		case endPlot:
			d.context.ResetClip()
		case drawPath:
			d.path(inner, s.class, s.path)
		case drawShade:
			left, top := inner.transform(s.x.value, 0)
			d.context.DrawRectangle(left, top, inner.sx*s.xEnd.value, inner.sy*float64(c.height))
			d.paint(style{fill: d.colors.shade})
		case drawRule:
			d.line(chart, d.colors.rule, 0, y, fileWidth, y)
		case drawLabel:
			d.text(chart, labelFont, d.colors.pale, end, labelEdge, y+.32*labelFont.size, s.text)
		case drawLane:
			d.text(chart, labelFont, d.colors.pale, start, 2, y, s.text)
		case drawWords:
			d.text(chart, legendFont, d.colors.ink, map[string]anchor{"end": end, "cell": middle}[s.class], x, y, s.text)
		case drawTick:
			d.line(chart, d.colors.pale, x, float64(c.height), x, float64(c.height+tickLength))
			anchor := middle
			switch s.class {
			case "b":
				anchor = start
			case "e":
				anchor = end
			}
			d.text(chart, labelFont, d.colors.pale, anchor, x, float64(c.height+tickLabel), s.text)
		}
	}
}

func (d *drawing) line(v view, c color.NRGBA, x1, y1, x2, y2 float64) {
	d.context.MoveTo(v.transform(x1, y1))
	d.context.LineTo(v.transform(x2, y2))
	d.paint(style{stroke: c, width: 1})
}

// invisibleLength is a length in pixels that is too short to see. In SVG, a line of length 0 has
// round ends. The library draws these ends only if the line is longer than 0.
const invisibleLength = 1. / 4

func (d *drawing) path(v view, class string, o *outline) {
	for _, p := range o.points {
		switch x, y := v.transform(p.x, p.y); {
		case p.closes:
			d.context.ClosePath()
		case p.starts:
			d.context.MoveTo(x, y)
		default:
			if at, ok := d.context.GetCurrentPoint(); ok && at.X == x && at.Y == y {
				x += invisibleLength
			}
			d.context.LineTo(x, y)
		}
	}
	d.paint(d.colors.style(class))
}

// paint fills and strokes the path. Its points are in pixels, so the width of a line does not
// depend on the scale of the view.
func (d *drawing) paint(s style) {
	if s.fill.A > 0 {
		d.context.SetColor(s.fill)
		d.context.FillPreserve()
	}
	if s.stroke.A > 0 {
		d.context.SetColor(s.stroke)
		d.context.SetLineWidth(d.scale * s.width)
		d.context.SetLineCap(gg.LineCapButt)
		if s.round {
			d.context.SetLineCap(gg.LineCapRound)
		}
		d.context.SetLineJoin(gg.LineJoinRound)
		dashes := make([]float64, 0, len(s.dashes))
		for _, length := range s.dashes {
			dashes = append(dashes, d.scale*length)
		}
		d.context.SetDash(dashes...)
		d.context.StrokePreserve()
	}
	d.context.ClearPath()
}

// anchor determines which part of a text is at the text's coordinate.
type anchor uint8

const (
	start anchor = iota
	middle
	end
)

// text draws a line of text.
func (d *drawing) text(v view, l fontStyle, c color.NRGBA, at anchor, x, y float64, words string) {
	face, err := d.face(l)
	if err != nil {
		d.fontError = err
		return
	}
	d.context.SetFontFace(face)
	d.context.SetColor(c)
	px, py := v.transform(x, y)
	width, _ := d.context.MeasureString(words)
	switch at {
	case middle:
		px -= width / 2
	case end:
		px -= width
	}
	d.context.DrawString(words, px, py)
}

// face returns a font. It loads the font on first use.
func (d *drawing) face(l fontStyle) (font.Face, error) {
	if face := d.faces[l]; face != nil {
		return face, nil
	}
	file := goregular.TTF
	if l.bold {
		file = gobold.TTF
	}
	parsed, err := opentype.Parse(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the fonts: %w", err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: d.scale * l.size, DPI: 72})
	if err != nil {
		return nil, fmt.Errorf("cannot read the fonts: %w", err)
	}
	d.faces[l] = face
	return face, nil
}
