package raster

import (
	"fmt"
	"image/color"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// style is what CSS says of an element, by property.
type style map[string]string

// initial is the root's.
var initial = style{"fill": "#000", "stroke": "none", "stroke-width": "1", "fill-opacity": "1", "color": "#000", "font-size": "16px"}

// uninherited are the properties that an element does not have from its parent.
var uninherited = []string{"display", "opacity", "vector-effect"}

// pixels is a length, which is a number or in px; 0 for anything else.
func (s style) pixels(property string) float64 {
	x, err := strconv.ParseFloat(strings.TrimSuffix(s[property], "px"), 64)
	if err != nil {
		return 0
	}
	return x
}

// sheet is a style sheet: its rules in the order in which they win.
type sheet struct {
	rules     []rule
	variables map[string]string
}

// rule is one selector with what it says.
type rule struct {
	selector []compound // from the outermost to the element itself
	says     style
}

// compound is a tag, if not empty, with classes.
type compound struct {
	tag     string
	classes []string
}

// blocks are "head{body}", where the body of a media query has blocks of its own.
var blocks = regexp.MustCompile(`([^{}]+)\{((?:[^{}]|\{[^{}]*\})*)\}`)

// parseSheet reads a style sheet of simple selectors. Of its media queries it
// takes that of a dark theme, where that is wanted.
func parseSheet(text string, dark bool) (sheet, error) {
	s := sheet{variables: map[string]string{}}
	if err := s.add(text, dark); err != nil {
		return s, err
	}
	slices.SortStableFunc(s.rules, func(a, b rule) int { return a.weight() - b.weight() })
	return s, nil
}

func (s *sheet) add(text string, dark bool) error {
	for _, m := range blocks.FindAllStringSubmatch(text, -1) {
		head, body := strings.TrimSpace(m[1]), m[2]
		if strings.HasPrefix(head, "@") {
			if dark && strings.Contains(head, "prefers-color-scheme:dark") {
				if err := s.add(body, dark); err != nil {
					return err
				}
			}
			continue
		}
		says := style{}
		for part := range strings.SplitSeq(body, ";") {
			property, value, ok := strings.Cut(strings.TrimSpace(part), ":")
			switch {
			case !ok && property != "":
				return fmt.Errorf("the picture's style cannot be read: %s", part)
			case strings.HasPrefix(property, "--"):
				s.variables[property] = value
			case property == "font": // size and families
				says["font-size"], _, _ = strings.Cut(value, " ")
			case ok:
				says[property] = value
			}
		}
		for selector := range strings.SplitSeq(head, ",") {
			r := rule{says: says}
			for word := range strings.FieldsSeq(selector) {
				parts := strings.Split(word, ".")
				r.selector = append(r.selector, compound{parts[0], parts[1:]})
			}
			s.rules = append(s.rules, r)
		}
	}
	return nil
}

// weight is the selector's specificity.
func (r *rule) weight() (w int) {
	for _, c := range r.selector {
		w += 100 * len(c.classes)
		if c.tag != "" {
			w++
		}
	}
	return w
}

// matches reports whether the rule is about an element.
func (r *rule) matches(n *node) bool {
	i := len(r.selector) - 1
	if !r.selector[i].matches(n) {
		return false
	}
	for i--; i >= 0; i-- {
		for n = n.parent; n != nil && !r.selector[i].matches(n); n = n.parent {
		}
		if n == nil {
			return false
		}
	}
	return true
}

func (c *compound) matches(n *node) bool {
	if c.tag != "" && c.tag != n.XMLName.Local {
		return false
	}
	classes := strings.Fields(n.attr("class"))
	return !slices.ContainsFunc(c.classes, func(class string) bool { return !slices.Contains(classes, class) })
}

// of is an element's style, with what it inherits; nil is of the root.
func (s *sheet) of(inherited style, n *node) style {
	if inherited == nil {
		inherited = initial
	}
	own := style{}
	for property, value := range inherited {
		if !slices.Contains(uninherited, property) {
			own[property] = value
		}
	}
	for i := range s.rules {
		if s.rules[i].matches(n) {
			for property, value := range s.rules[i].says {
				own[property] = value
			}
		}
	}
	return own
}

// colour is that of a fill or a stroke; one that cannot be seen is none.
func (s *sheet) colour(of style, property string) (c color.NRGBA, err error) {
	value := of[property]
	if value == "currentColor" {
		value = of["color"]
	}
	if name, ok := strings.CutPrefix(value, "var("); ok {
		value = s.variables[strings.TrimSuffix(name, ")")]
	}
	if value == "none" {
		return c, nil
	}
	hex, ok := strings.CutPrefix(value, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	if len(hex) == 6 {
		hex += "ff"
	}
	x, err := strconv.ParseUint(hex, 16, 32)
	if !ok || err != nil || len(hex) != 8 {
		return c, fmt.Errorf("the picture has a colour that cannot be drawn: %s", value)
	}
	c = color.NRGBA{uint8(x >> 24), uint8(x >> 16), uint8(x >> 8), uint8(x)}
	c.A = uint8(float64(c.A)*of.opacity(property+"-opacity")*of.opacity("opacity") + 0.5)
	return c, nil
}

// opacity is 1 where nothing is said.
func (s style) opacity(property string) float64 {
	if s[property] == "" {
		return 1
	}
	return s.pixels(property)
}
