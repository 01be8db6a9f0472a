// Package raster draws the SVG of package chart as pixels, for slides and for
// programs that take no SVG. It knows what chart writes and refuses the rest, so
// that no part of a chart is missing in silence but for characters that the Go
// fonts lack: these are boxes.
package raster

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"git.sr.ht/~sbinet/gg"
)

// Options are how a picture is drawn.
type Options struct {
	Scale float64 // pixels for each of SVG's
	Dark  bool    // as in a browser whose user prefers a dark theme
}

// PNG draws an SVG file whose style is in an element of it. Its text is set in
// the Go fonts, whatever the style says.
func PNG(w io.Writer, svg string, o Options) error {
	var root node
	if err := xml.Unmarshal([]byte(svg), &root); err != nil {
		return fmt.Errorf("the picture cannot be read: %w", err)
	}
	d := &drawing{}
	for i := range root.Children {
		if c := &root.Children[i]; c.XMLName.Local == "style" {
			var err error
			if d.sheet, err = parseSheet(c.Text, o.Dark); err != nil {
				return err
			}
		}
	}
	width, height := root.number("width", 0), root.number("height", 0)
	d.to = gg.NewContext(int(math.Ceil(o.Scale*width)), int(math.Ceil(o.Scale*height)))
	d.scale = o.Scale
	page := view{width: width, height: height, sx: o.Scale, sy: o.Scale}
	root.style = d.sheet.of(nil, &root)
	if err := d.children(&root, page); err != nil {
		return err
	}
	return d.to.EncodePNG(w)
}

// node is an element with what it inherits.
type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []node     `xml:",any"`

	parent *node
	style  style
}

func (n *node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// number is an attribute in the units of the picture around it; a percentage is
// of whole. One that is missing, or is none, is 0.
func (n *node) number(name string, whole float64) float64 {
	text, percent := strings.CutSuffix(n.attr(name), "%")
	em := strings.HasSuffix(text, "em")
	x, err := strconv.ParseFloat(strings.TrimSuffix(text, "em"), 64)
	switch {
	case err != nil:
		return 0
	case percent:
		return whole * x / 100
	case em:
		return x * n.style.pixels("font-size")
	}
	return x
}

// view is a picture within the picture: how large it is in its own units, and
// where these are.
type view struct {
	x, y, width, height float64 // in its own units: the left upper corner and the size
	sx, sy, tx, ty      float64 // pixels: sx*x + tx
}

func (v *view) at(x, y float64) (px, py float64) { return v.sx*x + v.tx, v.sy*y + v.ty }

// within is the view of an svg element in this one.
func (v *view) within(n *node) (view, error) {
	in := view{width: n.number("width", v.width), height: n.number("height", v.height), sx: v.sx, sy: v.sy}
	in.tx, in.ty = v.at(n.number("x", v.width), n.number("y", v.height))
	box := strings.Fields(n.attr("viewBox"))
	if len(box) == 0 {
		return in, nil
	}
	var b [4]float64
	for i := range b {
		var err error
		if len(box) != len(b) || n.attr("preserveAspectRatio") != "none" {
			return in, fmt.Errorf("the picture has a view that cannot be drawn: %s", n.attr("viewBox"))
		} else if b[i], err = strconv.ParseFloat(box[i], 64); err != nil {
			return in, fmt.Errorf("the picture has a view that cannot be drawn: %w", err)
		}
	}
	in.sx, in.sy = in.sx*in.width/b[2], in.sy*in.height/b[3]
	in.tx, in.ty = in.tx-in.sx*b[0], in.ty-in.sy*b[1]
	in.x, in.y, in.width, in.height = b[0], b[1], b[2], b[3]
	return in, nil
}

// drawing is a picture being drawn.
type drawing struct {
	to    *gg.Context
	sheet sheet
	scale float64
	faces faces
}

func (d *drawing) children(of *node, v view) error {
	for i := range of.Children {
		n := &of.Children[i]
		n.parent = of
		n.style = d.sheet.of(of.style, n)
		if n.style["display"] == "none" {
			continue
		}
		if err := d.element(n, v); err != nil {
			return err
		}
	}
	return nil
}

func (d *drawing) element(n *node, v view) error {
	switch n.XMLName.Local {
	case "style", "title":
		return nil
	case "g":
		return d.children(n, v)
	case "svg":
		in, err := v.within(n)
		if err != nil {
			return err
		}
		if n.attr("overflow") != "visible" {
			x, y := in.at(in.x, in.y)
			d.to.DrawRectangle(x, y, in.sx*in.width, in.sy*in.height)
			d.to.Clip()
			defer d.to.ResetClip()
		}
		return d.children(n, in)
	case "rect":
		x, y := v.at(n.number("x", v.width), n.number("y", v.height))
		d.to.DrawRectangle(x, y, v.sx*n.number("width", v.width), v.sy*n.number("height", v.height))
		return d.paint(n)
	case "line":
		d.to.MoveTo(v.at(n.number("x1", v.width), n.number("y1", v.height)))
		d.to.LineTo(v.at(n.number("x2", v.width), n.number("y2", v.height)))
		return d.paint(n)
	case "path":
		if err := d.path(n.attr("d"), v); err != nil {
			return err
		}
		return d.paint(n)
	case "text":
		return d.text(n, v)
	}
	return fmt.Errorf("the picture has an element that cannot be drawn: %s", n.XMLName.Local)
}

// paint fills and strokes the path, whose points are pixels already: a line is
// as wide in a stretched view as elsewhere.
func (d *drawing) paint(n *node) error {
	fill, err := d.sheet.colour(n.style, "fill")
	if err != nil {
		return err
	}
	stroke, err := d.sheet.colour(n.style, "stroke")
	if err != nil {
		return err
	}
	if fill.A > 0 {
		d.to.SetColor(fill)
		d.to.FillPreserve()
	}
	if stroke.A > 0 {
		d.to.SetColor(stroke)
		d.to.SetLineWidth(d.scale * n.style.pixels("stroke-width"))
		d.to.SetLineCap(gg.LineCapButt)
		if n.style["stroke-linecap"] == "round" {
			d.to.SetLineCap(gg.LineCapRound)
		}
		d.to.SetLineJoin(gg.LineJoinRound)
		var dashes []float64
		for _, f := range strings.Fields(strings.TrimPrefix(n.style["stroke-dasharray"], "none")) {
			x, err := strconv.ParseFloat(f, 64)
			if err != nil {
				return fmt.Errorf("the picture has dashes that cannot be drawn: %w", err)
			}
			dashes = append(dashes, d.scale*x)
		}
		d.to.SetDash(dashes...)
		d.to.StrokePreserve()
	}
	d.to.ClearPath()
	return nil
}

// dot is a length, in pixels, that the library takes for one and nobody sees.
const dot = 1. / 4

// path adds a path of straight lines: M, L, H, V, h, v and z, as chart has them.
func (d *drawing) path(text string, v view) error {
	var x, y, x0, y0 float64
	for len(text) > 0 {
		end := strings.IndexFunc(text[1:], func(r rune) bool { return r >= 'A' })
		command, rest := text[0], text[1:]
		text = ""
		if end >= 0 {
			rest, text = rest[:end], rest[end:]
		}
		var p []float64
		for _, f := range strings.Fields(rest) {
			n, err := strconv.ParseFloat(f, 64)
			if err != nil {
				return fmt.Errorf("the picture has a path that cannot be drawn: %w", err)
			}
			p = append(p, n)
		}
		switch {
		case command == 'M' && len(p) == 2, command == 'L' && len(p) == 2:
			x, y = p[0], p[1]
		case command == 'H' && len(p) == 1:
			x = p[0]
		case command == 'h' && len(p) == 1:
			x += p[0]
		case command == 'V' && len(p) == 1:
			y = p[0]
		case command == 'v' && len(p) == 1:
			y += p[0]
		case command == 'z' && len(p) == 0:
			d.to.ClosePath()
			x, y = x0, y0
			continue
		default:
			return fmt.Errorf("the picture has a path that cannot be drawn: %c%s", command, rest[:min(len(rest), 40)])
		}
		px, py := v.at(x, y)
		if command == 'M' {
			x0, y0 = x, y
			d.to.MoveTo(px, py)
			continue
		}
		if at, ok := d.to.GetCurrentPoint(); ok && at.X == px && at.Y == py {
			px += dot // a line without a length has round ends in SVG, and none in the library
		}
		d.to.LineTo(px, py)
	}
	return nil
}
