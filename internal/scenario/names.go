package scenario

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// maxName is the maximum length of a name in bytes. The name becomes the name of a folder.
const maxName = 120

// maxLabel is the maximum length of a value inside a name. Longer values are replaced by numbers.
const maxLabel = 40

var (
	validName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=+,-]{0,119}$`)
	placeholder = regexp.MustCompile(`\{[^{}]*\}`)
)

func invalidNameText(name string) string {
	return fmt.Sprintf("the name %q cannot be used as the name of a folder; use at most %d letters, digits and . _ = + , - and begin with a letter or digit", name, maxName)
}

var invalidNameChars = regexp.MustCompile(`[^A-Za-z0-9._=+,-]+`)

// baseName returns the name that a scenario gets from the name of its file.
func baseName(file string) string {
	base := filepath.Base(file)
	base = invalidNameChars.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "-")
	if base = strings.TrimLeft(base, "-._=+,"); base == "" {
		return "scenario"
	}
	return base[:min(len(base), maxName)]
}

// label returns the text that represents a value in a trial's name. If this text would be empty or
// too long, label returns `number`, which is the position of the value in its list.
func label(n *node, number int) string {
	text := strings.NewReplacer("%", "pct").Replace(flattenedText(n))
	text = strings.Trim(invalidNameChars.ReplaceAllString(text, "-"), "-")
	if text == "" || len(text) > maxLabel {
		return strconv.Itoa(number)
	}
	return text
}

// storeLabel returns the text that represents store i of a list in a trial's name: the store's
// label or name. If other stores in the list have the same name, the store's version or its
// position in the list follows.
func storeLabel(all []*node, i int) string {
	n := all[i]
	name := label(n.field("name"), i+1)
	sameNameCount := 0
	for _, other := range all {
		if flattenedText(other.field("name")) == flattenedText(n.field("name")) {
			sameNameCount++
		}
	}
	switch said, version := n.field("label"), n.field("version"); {
	case n.kind == mapping && said != n:
		return label(said, i+1)
	case sameNameCount < 2 || n.kind != mapping || len(n.pairs) == 1:
		return name
	case version != n:
		return name + "-" + label(version, i+1)
	}
	return name + "-" + strconv.Itoa(i+1)
}

// NamePart converts a text to a form that is allowed in a name. If the converted text is empty or
// too long, NamePart returns `number`.
func NamePart(text string, number int) string { return label(&node{kind: scalar, text: text}, number) }

func flattenedText(n *node) string {
	var parts []string
	switch n.kind {
	case mapping:
		for _, p := range n.pairs {
			parts = append(parts, p.key+"="+flattenedText(p.value))
		}
	case list:
		for _, item := range n.items {
			parts = append(parts, flattenedText(item))
		}
	default:
		return n.text
	}
	return strings.Join(parts, "+")
}
