package chart

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"strings"
	"testing"

	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// pixelsOf draws on a canvas that is 150 SVG pixels high, with two pixels per SVG pixel. It returns
// the picture and the position of the chart in it.
func pixelsOf(t *testing.T, dark bool, draw func(*canvas)) (p image.Image, left, top int) {
	t.Helper()
	c := canvas{title: "a title", height: plotHeight}
	draw(&c)
	done := finish("a-chart", c, nil)
	var b bytes.Buffer
	if err := done.PNG(&b, "a run", Pixels{Scale: 2, Dark: dark}); err != nil {
		t.Fatal(err)
	}
	p, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return p, 2 * fileLeft, 2 * fileTop
}

// checkColorAt checks the color at a position in the chart. Each channel, whose values are 0 to
// 255, may differ by 1.
func checkColorAt(t *testing.T, what string, p image.Image, x, y int, want color.NRGBA) {
	t.Helper()
	got := color.NRGBAModel.Convert(p.At(x, y)).(color.NRGBA)
	for _, d := range []int{int(got.R) - int(want.R), int(got.G) - int(want.G), int(got.B) - int(want.B), int(got.A) - int(want.A)} {
		if d < -1 || d > 1 {
			t.Errorf("%s: %v, not %v", what, got, want)
			return
		}
	}
}

// A line has the same width in the stretched plot as elsewhere, and ends at the edges of the plot.
// A line of length 0 is a dot.
func TestLinesAndDots(t *testing.T) {
	settle.SkipUnderRace(t)
	p, left, top := pixelsOf(t, false, func(c *canvas) {
		c.plot(-1, 1, func() {
			var upright, across outline
			upright.move(num(0), num(0))
			upright.lineToY(num(plotHeight))
			c.path("s0 l", &upright, "")
			across.move(num(-9), num(40))
			across.lineToX(num(9))
			c.path("s1 l", &across, "")
			c.dot("s2 dot", num(0.5), num(100), "a dot")
		})
	})
	paper := light.background
	checkColorAt(t, "a line", p, left+fileWidth, top+2*20, light.series[0])
	checkColorAt(t, "next to a line", p, left+fileWidth+4, top+2*20, paper)
	checkColorAt(t, "a line across", p, left+100, top+2*40, light.series[1])
	checkColorAt(t, "left of the plot", p, left-4, top+2*40, paper)
	checkColorAt(t, "a dot", p, left+2*fileWidth*3/4, top+2*100+5, light.series[2])
	checkColorAt(t, "next to a dot", p, left+2*fileWidth*3/4+8, top+2*100, paper)
}

// A closed outline is filled. Each theme has its own colors.
func TestOutlinesAreFilled(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, c := range []*colors{light, dark} {
		p, left, top := pixelsOf(t, c == dark, func(c *canvas) {
			c.plot(0, fileWidth, func() {
				var cell outline
				cell.move(num(10), num(10))
				cell.lineAlong(num(20))
				cell.lineDown(num(20))
				cell.lineAlong(num(-20))
				cell.end()
				c.path("h8", &cell, "")
			})
		})
		checkColorAt(t, "a cell", p, left+2*20, top+2*20, c.heat)
		checkColorAt(t, "the paper", p, left+2*40, top+2*20, c.background)
	}
}

// A style combines the rules of all classes. If rules conflict, the stronger rule applies.
func TestStylesOfClasses(t *testing.T) {
	for classes, want := range map[string]string{
		"s0 l": "1.6 []", "s4 l": "1.6 [6 3]", "s7 l": "1.6 [1.5 3]", "s0 l unsure": "1.6 [2 4]", "s4 l unsure": "1.6 [6 3]", "s1 l fitted": "1.6 [6 3]",
		"s6 l fitted": "1.6 [1.5 3]", "s0 l thin": "1 []", "s4 dot": "7 []", "s0 mark": "8 []", "grave": "1 [4 3]",
	} {
		if s := light.style(classes); fmt.Sprint(s.width, " ", s.dashes) != want {
			t.Errorf("%s: %v %v, not %s", classes, s.width, s.dashes, want)
		}
	}
	if s := light.style("s0 dot out"); s.stroke.A != 102 {
		t.Errorf("a pale dot has %v", s.stroke)
	}
}

// Browsers and PNG files show the same colors.
func TestThemesAgreeWithTheStyleSheet(t *testing.T) {
	b, err := os.ReadFile("../chart.css")
	if err != nil {
		t.Fatal(err)
	}
	bright, dim, _ := strings.Cut(string(b), "@media")
	for sheet, c := range map[string]*colors{bright: light, dim: dark} {
		named := map[string]color.NRGBA{"paper": c.background, "ink": c.ink, "pale": c.pale, "rule": c.rule, "shade": c.shade, "grave": c.severe, "heat": c.heat}
		for i, series := range c.series {
			named[Series(i)] = series
		}
		for name, is := range named {
			want := fmt.Sprintf("--%s:#%02x%02x%02x", name, is.R, is.G, is.B)
			switch {
			case is.A != 0xff:
				want += fmt.Sprintf("%02x", is.A)
			case is.R == is.G && is.G == is.B && is.R == 0xff:
				want = "--" + name + ":#fff"
			}
			if !strings.Contains(sheet, want) {
				t.Errorf("the style sheet does not have %s", want)
			}
		}
	}
}

// Text has the position of its anchor and the right size.
func TestText(t *testing.T) {
	for at, want := range map[anchor]image.Rectangle{
		start: image.Rect(98, 60, 160, 85), middle: image.Rect(68, 60, 132, 85), end: image.Rect(40, 60, 102, 85),
	} {
		d := &drawing{context: gg.NewContext(200, 100), scale: 2, faces: map[fontStyle]font.Face{}}
		d.text(view{sx: 2, sy: 2}, fontStyle{size: 10}, light.ink, at, 50, 40, "HHHH")
		ink := image.Rectangle{}
		for y := range 100 {
			for x := range 200 {
				if _, _, _, a := d.context.Image().At(x, y).RGBA(); a > 0 {
					ink = ink.Union(image.Rect(x, y, x+1, y+1))
				}
			}
		}
		if !ink.In(want) || ink.Dx() < 40 || ink.Dy() < 10 || d.fontError != nil {
			t.Errorf("position %d: the text covers %v, and the font error is %v", at, ink, d.fontError)
		}
	}
}
