package web

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The charts of a known run have the right elements at the right positions, in the colors of both
// themes: the line of p50, the shade of the warm-up, the worst second in the heat map, and the
// background.
func TestChartsAsPNG(t *testing.T) {
	settle.SkipUnderRace(t)
	dir := made{name: "known", seconds: 10, trials: 1}.record(t)
	files, problems := Charts(opened(t, dir), nil, AllCharts)
	if len(problems) > 0 {
		t.Error(problems)
	}
	pictures := map[string]image.Image{}
	for i := range files {
		f := &files[i]
		name := strings.TrimPrefix(f.Name, "trial-01-put-1-")
		for dark, paper := range map[bool]color.NRGBA{false: {255, 255, 255, 255}, true: {0x14, 0x17, 0x1a, 255}} {
			if !slices.Contains([]string{"throughput", "latency", "heat-map"}, name) || dark && name != "latency" {
				continue // drawing is slow with the race detector
			}
			var b bytes.Buffer
			must(t, f.PNG(dark)(&b))
			p, err := png.Decode(&b)
			must(t, err)
			if got := colorAt(p, 3, 3); got != paper {
				t.Errorf("%s: the paper is %v", name, got)
			}
			if p.Bounds().Dx() != 2*1068 || p.Bounds().Dy() < 300 {
				t.Errorf("%s is %v", name, p.Bounds())
			}
			if !dark {
				pictures[name] = p
			}
		}
	}
	// In SVG pixels, the time axis starts at 84 and is 960 wide. It ranges from -2 s to 10 s, so
	// each second is 80 wide.
	second := func(s float64) int { return int(2 * (84 + 80*(s+2))) }
	if c := colorAt(pictures["throughput"], second(-1), 2*60); c.R > 245 || c.R < 230 {
		t.Errorf("the background of the warm-up has the colour %v, want a shade", c)
	}
	// The vertical axis is logarithmic from 1 ms to 1 s. In SVG pixels, it starts at 44 and is 150
	// high. All operations in second 4 took 800 ms. In the seconds before, 99 % of the operations
	// took 1 ms, so the line of p99 hides the line of p50.
	p99 := color.NRGBA{0xd5, 0x5e, 0x00, 255}
	latency := pictures["latency"]
	if y := countColor(latency, second(2.5), p99); y < 2*(44+145) {
		t.Errorf("a p99 of 1 ms is drawn at the height %d, want the lower end of the axis", y)
	}
	slow := false // the lines of p50, p99 and max meet there; the last one is on top
	for y := 2 * 44; y < 2*(44+20); y++ {
		if c := colorAt(latency, second(4.5), y); c.R < 200 && c != colorAt(latency, second(4.5), 3) {
			slow = true
		}
	}
	if !slow {
		t.Error("no line is drawn at 800 ms, near the top of the chart")
	}
	if c := colorAt(pictures["heat-map"], second(4.5), 2*(44+3)); c.B <= c.R || c.R > 100 {
		t.Errorf("the heat map's cell of 2,000 slow operations has the colour %v", c)
	}
}

func colorAt(p image.Image, x, y int) color.NRGBA {
	return color.NRGBAModel.Convert(p.At(x, y)).(color.NRGBA)
}

// countColor returns the first row in which column x of the picture has the color c. It returns -1
// if no row has this color.
func countColor(p image.Image, x int, c color.NRGBA) int {
	for y := 2 * 40; y < p.Bounds().Max.Y; y++ {
		if colorAt(p, x, y) == c {
			return y
		}
	}
	return -1
}
