package raster

import (
	"fmt"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
)

// faces are fonts that were made ready.
type faces map[faceKey]font.Face

// faceKey is a font's size in pixels and its weight.
type faceKey struct {
	size float64
	bold bool
}

func (f *faces) face(k faceKey) (font.Face, error) {
	if face := (*f)[k]; face != nil {
		return face, nil
	}
	file := goregular.TTF
	if k.bold {
		file = gobold.TTF
	}
	parsed, err := opentype.Parse(file)
	if err != nil {
		return nil, fmt.Errorf("the fonts cannot be read: %w", err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: k.size, DPI: 72})
	if err != nil {
		return nil, fmt.Errorf("the fonts cannot be read: %w", err)
	}
	if *f == nil {
		*f = faces{}
	}
	(*f)[k] = face
	return face, nil
}

// text draws a line of text.
func (d *drawing) text(n *node, v view) error {
	face, err := d.faces.face(faceKey{d.scale * n.style.pixels("font-size"), n.style["font-weight"] >= "600"})
	if err != nil {
		return err
	}
	fill, err := d.sheet.colour(n.style, "fill")
	if err != nil {
		return err
	}
	d.to.SetFontFace(face)
	d.to.SetColor(fill)
	x, y := v.at(n.number("x", v.width)+n.number("dx", 0), n.number("y", v.height)+n.number("dy", 0))
	width, _ := d.to.MeasureString(n.Text)
	switch n.style["text-anchor"] {
	case "middle":
		x -= width / 2
	case "end":
		x -= width
	}
	d.to.DrawString(n.Text, x, y)
	return nil
}
