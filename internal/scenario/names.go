package scenario

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
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
func label(n *file.Node, number int) string {
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
func storeLabel(all []*file.Node, i int) string {
	n := all[i]
	name := label(n.Field("name"), i+1)
	sameNameCount := 0
	for _, other := range all {
		if flattenedText(other.Field("name")) == flattenedText(n.Field("name")) {
			sameNameCount++
		}
	}
	switch said, version := n.Field("label"), n.Field("version"); {
	case n.Kind == file.Mapping && said != n:
		return label(said, i+1)
	case sameNameCount < 2 || n.Kind != file.Mapping || len(n.Pairs) == 1:
		return name
	case version != n:
		return name + "-" + label(version, i+1)
	}
	return name + "-" + strconv.Itoa(i+1)
}

// NamePart converts a text to a form that is allowed in a name. If the converted text is empty or
// too long, NamePart returns `number`.
func NamePart(text string, number int) string {
	return label(&file.Node{Kind: file.Scalar, Text: text}, number)
}

func flattenedText(n *file.Node) string {
	var parts []string
	switch n.Kind {
	case file.Mapping:
		for _, p := range n.Pairs {
			parts = append(parts, p.Key+"="+flattenedText(p.Value))
		}
	case file.List:
		for _, item := range n.Items {
			parts = append(parts, flattenedText(item))
		}
	default:
		return n.Text
	}
	return strings.Join(parts, "+")
}
