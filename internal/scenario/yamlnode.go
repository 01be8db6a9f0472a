package scenario

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// node is a value in a scenario file: the part of YAML that scenarios use.
// Anchors, aliases, merge keys and tags are left out on purpose: defaults and
// matrix say the same more plainly, and a position then means one value.
type node struct {
	kind   kind
	text   string // of a scalar
	quoted bool   // a scalar in quotes, which is never a number
	items  []*node
	pairs  []pair
	at     place
	raw    ast.Node // for a store's own settings
	flag   bool     // said by a flag
	// entries says that the mapping changes these entries of another one.
	entries bool
}

type pair struct {
	key   string
	at    place // of the key
	value *node
}

type kind uint8

const (
	null kind = iota
	scalar
	list
	mapping
)

// what names the value for a sentence.
func (n *node) what() string {
	switch n.kind {
	case null:
		return "nothing"
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	}
	const enough = 40
	if text := []rune(n.text); len(text) > enough {
		return `"` + string(text[:enough]) + `..."`
	}
	if n.quoted || n.text == "" || strings.ContainsAny(n.text, " \n") {
		return `"` + n.text + `"`
	}
	return n.text
}

// convert turns the library's tree into ours.
func convert(from ast.Node) (*node, error) {
	n := &node{at: begin(from), raw: from}
	switch v := from.(type) {
	case *ast.NullNode:
		return n, nil
	case *ast.MappingNode:
		return n, n.addPairs(v.Values)
	case *ast.MappingValueNode:
		return n, n.addPairs([]*ast.MappingValueNode{v})
	case *ast.SequenceNode:
		return n, n.addItems(v.Values)
	case *ast.LiteralNode:
		n.kind, n.text, n.quoted = scalar, v.Value.Value, true
		return n, nil
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return nil, n.at.errorf("a scenario uses no YAML anchors, aliases or merge keys; what trials share goes under defaults")
	case *ast.TagNode:
		return nil, n.at.errorf("a scenario uses no YAML tags such as %q; quote what is to be text", v.Start.Value)
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		t := from.GetToken()
		n.kind, n.text = scalar, t.Value
		n.quoted = t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
		return n, nil
	}
	return nil, n.at.errorf("a scenario has no use for this kind of YAML; write a value, a list or a mapping")
}

// begin is where a value begins: the library says of a mapping in block style
// where its first colon is.
func begin(n ast.Node) place {
	switch v := n.(type) {
	case *ast.MappingNode:
		if len(v.Values) > 0 && !v.IsFlowStyle {
			return at(v.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return at(v.Key.GetToken())
	}
	return at(n.GetToken())
}

func (n *node) addPairs(values []*ast.MappingValueNode) error {
	n.kind = mapping
	seen := make(map[string]place)
	for _, v := range values {
		key, err := convert(v.Key)
		if err != nil {
			return err
		}
		if key.kind != scalar {
			return key.at.errorf("a key is a word here, not %s", key.what())
		}
		if first, twice := seen[key.text]; twice {
			return key.at.errorf("%s is given twice; first in line %d", key.text, first.line)
		}
		seen[key.text] = key.at
		value, err := convert(v.Value)
		if err != nil {
			return err
		}
		n.pairs = append(n.pairs, pair{key.text, key.at, value})
	}
	return nil
}

func (n *node) addItems(values []ast.Node) error {
	n.kind = list
	for _, v := range values {
		item, err := convert(v)
		if err != nil {
			return err
		}
		n.items = append(n.items, item.rejoined())
	}
	return nil
}

// rejoined undoes a fault of the library (goccy/go-yaml issue 832): in a list
// inside a mapping in braces, it takes the text member:2 for a mapping, though
// no space follows the colon.
func (n *node) rejoined() *node {
	if n.kind != mapping || len(n.pairs) != 1 {
		return n
	}
	p := n.pairs[0]
	v := p.value
	gap := place{p.at.line, p.at.column + utf8.RuneCountInString(p.key) + 1}
	if v.kind != scalar || v.quoted || v.at != gap {
		return n
	}
	return &node{kind: scalar, text: p.key + ":" + v.text, at: p.at, raw: n.raw}
}
