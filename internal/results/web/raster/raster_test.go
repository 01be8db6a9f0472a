package raster

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
)

// drawn is an SVG as a picture of twice its size.
func drawn(t *testing.T, svg string, dark bool) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := PNG(&b, svg, Options{Scale: 2, Dark: dark}); err != nil {
		t.Fatal(err)
	}
	p, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const styled = `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50" viewBox="0 0 100 50"><style>
:root{--paper:#fff;--ink:#010203}
@media (prefers-color-scheme:dark){:root{--paper:#000;--ink:#fefdfc}}
rect.paper{fill:var(--paper)}
.a path{stroke:#123456}
.a path.b{stroke:currentColor}
.c{color:var(--ink)}
.l{fill:none;stroke-width:4}
.half{fill:#ff0000;fill-opacity:.5}
.dot{fill:none;stroke:currentColor;stroke-width:8;stroke-linecap:round;stroke-dasharray:none}
text{font:10px serif;fill:#00ff00}
.off{display:none}
</style>`

func TestPictures(t *testing.T) {
	for _, c := range []struct {
		name, svg string
		at        image.Point
		want      color.NRGBA
		dark      bool
	}{
		{"a rectangle", `<rect class="paper" width="100%" height="100%"/>`, image.Pt(100, 50), color.NRGBA{255, 255, 255, 255}, false},
		{"the dark theme", `<rect class="paper" width="100%" height="100%"/>`, image.Pt(100, 50), color.NRGBA{0, 0, 0, 255}, true},
		{"a half", `<rect class="paper" width="100%" height="100%"/><rect class="half" x="10" y="10" width="50%" height="20"/>`, image.Pt(40, 40), color.NRGBA{255, 127, 127, 255}, false},
		{"a line of the stronger rule", `<g class="a"><path class="b c l" d="M10 10H90V40"/></g>`, image.Pt(100, 20), color.NRGBA{1, 2, 3, 255}, false},
		{"of the weaker rule", `<g class="a"><path class="c l" d="M10 10H90V40"/></g>`, image.Pt(180, 60), color.NRGBA{0x12, 0x34, 0x56, 255}, false},
		{"what is switched off", `<rect class="off" width="100" height="50"/>`, image.Pt(100, 50), color.NRGBA{}, false},
		{"a dot", `<path class="dot c" d="M50 25h0"/>`, image.Pt(100, 55), color.NRGBA{1, 2, 3, 255}, false},
		{"beside a dot", `<path class="dot c" d="M50 25h0"/>`, image.Pt(108, 58), color.NRGBA{}, false},
		// A stretched view has lines of the usual width, and ends at its edges.
		{"a view", `<svg x="10" y="10" width="80" height="30" viewBox="-1 0 2 30" preserveAspectRatio="none"><g class="a c"><path class="l" d="M0 0V30"/></g></svg>`, image.Pt(97, 50), color.NRGBA{0x12, 0x34, 0x56, 255}, false},
		{"beside a line in it", `<svg x="10" y="10" width="80" height="30" viewBox="-1 0 2 30" preserveAspectRatio="none"><g class="a c"><path class="l" d="M0 0V30"/></g></svg>`, image.Pt(106, 50), color.NRGBA{}, false},
		{"outside of a view", `<svg x="10" y="10" width="80" height="30" viewBox="-1 0 2 30" preserveAspectRatio="none"><g class="a c"><path class="l" d="M-9 15H9"/></g></svg>`, image.Pt(10, 50), color.NRGBA{}, false},
		{"a closed path of steps", `<path d="M10 10h20v20h-20z"/>`, image.Pt(40, 40), color.NRGBA{0, 0, 0, 255}, false},
	} {
		p := drawn(t, styled+c.svg+`</svg>`, c.dark)
		if p.Bounds() != image.Rect(0, 0, 200, 100) {
			t.Errorf("%s: the picture is %v", c.name, p.Bounds())
		}
		got := color.NRGBAModel.Convert(p.At(c.at.X, c.at.Y)).(color.NRGBA)
		for _, d := range []int{int(got.R) - int(c.want.R), int(got.G) - int(c.want.G), int(got.B) - int(c.want.B), int(got.A) - int(c.want.A)} {
			if d < -1 || d > 1 {
				t.Errorf("%s: %v at %v, not %v", c.name, got, c.at, c.want)
				break
			}
		}
	}
}

// Text stands where its anchor says, in its size.
func TestText(t *testing.T) {
	for anchor, want := range map[string]image.Rectangle{
		"start": image.Rect(98, 60, 160, 85), "middle": image.Rect(68, 60, 132, 85), "end": image.Rect(40, 60, 102, 85),
	} {
		svg := strings.Replace(styled, "</style>", "text{text-anchor:"+anchor+"}</style>", 1)
		p := drawn(t, svg+`<text x="50%" y="40">HHHH</text></svg>`, false)
		ink := image.Rectangle{}
		for y := range 100 {
			for x := range 200 {
				if _, _, _, a := p.At(x, y).RGBA(); a > 0 {
					ink = ink.Union(image.Rect(x, y, x+1, y+1))
				}
			}
		}
		if !ink.In(want) || ink.Dx() < 40 || ink.Dy() < 10 {
			t.Errorf("%s: the text is at %v", anchor, ink)
		}
	}
}

func TestWhatCannotBeDrawnIsRefused(t *testing.T) {
	for svg, want := range map[string]string{
		`<svg>`:                      "the picture cannot be read",
		`<svg><circle r="1"/></svg>`: "an element that cannot be drawn: circle",
		`<svg><path d="M0 0C1 1 2 2 3 3"/></svg>`:                                    "a path that cannot be drawn: C1 1 2 2 3 3",
		`<svg><path d="M0"/></svg>`:                                                  "a path that cannot be drawn: M0",
		`<svg><path d="Mx y"/></svg>`:                                                "a path that cannot be drawn",
		`<svg><svg viewBox="0 0 1"/></svg>`:                                          "a view that cannot be drawn: 0 0 1",
		`<svg><style>path{fill:red}</style><path d="M0 0h1v1z"/></svg>`:              "a colour that cannot be drawn: red",
		`<svg><style>path{stroke:#000;stroke-dasharray:a}</style><path d=""/></svg>`: "dashes that cannot be drawn",
		`<svg><style>path{fill}</style></svg>`:                                       "style cannot be read",
	} {
		if err := PNG(&bytes.Buffer{}, svg, Options{Scale: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %s", svg, err, want)
		}
	}
}
