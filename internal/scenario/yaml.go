package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Limits for scenario files. They are far above the size of real files. They keep a damaged or
// malicious file from exhausting the memory.
const (
	maxFile  = 128 << 10 // bytes
	maxDepth = 32        // nested mappings and lists that are opened in the same line
)

// document parses YAML and returns its top-level mapping, or nil for an empty file.
func document(data []byte) (n *node, err error) {
	// A panic in the YAML library must not reach users.
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, &Error{Text: "this is not valid YAML, and the parser could not find the line of the error"}
		}
	}()
	if e := checkText(data); e != nil {
		return nil, e
	}
	tokens := lexer.Tokenize(strings.TrimPrefix(string(data), "\ufeff"))
	if e := checkDepth(tokens); e != nil {
		return nil, e
	}
	// Duplicate keys are rejected later, with better messages.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(err)
	}
	return rootMapping(file)
}

// checkText rejects data that is too long or is not text.
func checkText(data []byte) *Error {
	if len(data) > maxFile {
		return &Error{Text: fmt.Sprintf("the file has %d bytes, but a scenario can have at most %d", len(data), maxFile)}
	}
	for i, line := range strings.Split(string(data), "\n") {
		if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
			return position{line: i + 1, column: 1}.errorf("this line is not UTF-8 text; a scenario must be a YAML file")
		}
	}
	return nil
}

// checkDepth rejects nesting that would make the parser recurse too deeply. Nesting by indentation
// needs no limit, because each level takes at least one column.
func checkDepth(tokens token.Tokens) *Error {
	open, line, openersInLine := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, openersInLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			openersInLine++
		}
		if open > maxDepth || openersInLine > maxDepth {
			return tokenPosition(t).errorf("lists and mappings are nested more than %d levels deep here", maxDepth)
		}
	}
	return nil
}

func syntaxError(err error) *Error {
	var known yaml.Error
	if errors.As(err, &known) {
		text := "this is not valid YAML: " + strings.TrimSpace(known.GetMessage()) + "; check the brackets, quotes and indentation"
		if t := known.GetToken(); t != nil && t.Position != nil {
			return tokenPosition(t).errorf("%s", text)
		}
		return &Error{Text: text}
	}
	return &Error{Text: "this is not valid YAML: " + strings.TrimSpace(err.Error())}
}

func rootMapping(file *ast.File) (*node, error) {
	var root ast.Node
	for _, d := range file.Docs {
		switch b := d.Body.(type) {
		case nil, *ast.DirectiveNode:
		default:
			if root != nil {
				return nil, startPosition(b).errorf("a second YAML document begins here, but a scenario file must have only one")
			}
			root = b
		}
	}
	if root == nil {
		return nil, nil
	}
	n, err := convert(root)
	if err != nil {
		return nil, err
	}
	if n.kind != mapping {
		return nil, n.pos.errorf("a scenario must be a mapping with keys such as name and trials, not %s", n.describe())
	}
	return n, nil
}

// tokenPosition returns the position of a token. The library counts the columns of some tokens from
// 0.
func tokenPosition(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{line: 1, column: 1}
	}
	return position{line: max(t.Position.Line, 1), column: max(t.Position.Column, 1)}
}

// node is a value in a scenario file. It supports the part of YAML that scenarios use. Anchors,
// aliases, merge keys and tags are deliberately not supported: the keys `defaults` and `matrix`
// serve the same purpose more clearly, and without them each position belongs to a single value.
type node struct {
	kind     kind
	text     string // of a scalar
	quoted   bool   // a quoted scalar is never a number
	items    []*node
	pairs    []pair
	pos      position
	raw      ast.Node // for a store's settings
	fromFlag bool     // set if the value is from a flag
	// isPartial is set if the mapping only changes entries of another mapping. When the other
	// mapping is known, the changed entries are merged into it.
	isPartial bool
	base      *node
}

type pair struct {
	key   string
	pos   position // of the key
	value *node
}

type kind uint8

const (
	null kind = iota
	scalar
	list
	mapping
)

// describe describes the value for error messages.
func (n *node) describe() string {
	switch n.kind {
	case null:
		return "nothing"
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	}
	const maxLength = 40
	if text := []rune(n.text); len(text) > maxLength {
		return `"` + string(text[:maxLength]) + `..."`
	}
	if n.quoted || n.text == "" || strings.ContainsAny(n.text, " \n") {
		return `"` + n.text + `"`
	}
	return n.text
}

// describeMismatch describes a value that is not of the kind `want`, or that is of this kind but
// empty.
func (n *node) describeMismatch(want kind) string {
	if n.kind == want {
		return "an empty value"
	}
	return n.describe()
}

// convert converts the library's syntax tree to nodes.
func convert(source ast.Node) (*node, error) {
	n := &node{pos: startPosition(source), raw: source}
	switch v := source.(type) {
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
		return nil, n.pos.errorf("YAML anchors, aliases and merge keys are not supported; put values that trials share under defaults")
	case *ast.TagNode:
		return nil, n.pos.errorf("YAML tags such as %q are not supported; quote the text", v.Start.Value)
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		t := source.GetToken()
		n.kind, n.text = scalar, t.Value
		n.quoted = t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
		return n, nil
	}
	return nil, n.pos.errorf("this YAML syntax is not supported; write a value, a list or a mapping")
}

// startPosition returns the position at which a value begins. For a mapping in block style, the
// library reports the position of the first colon.
func startPosition(n ast.Node) position {
	switch v := n.(type) {
	case *ast.MappingNode:
		if len(v.Values) > 0 && !v.IsFlowStyle {
			return tokenPosition(v.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return tokenPosition(v.Key.GetToken())
	}
	return tokenPosition(n.GetToken())
}

func (n *node) addPairs(values []*ast.MappingValueNode) error {
	n.kind = mapping
	seen := make(map[string]position)
	for _, v := range values {
		key, err := convert(v.Key)
		if err != nil {
			return err
		}
		if key.kind != scalar {
			return key.pos.errorf("a key must be a word, not %s", key.describe())
		}
		if first, twice := seen[key.text]; twice {
			return key.pos.errorf("%s is given twice; the first is in line %d", key.text, first.line)
		}
		seen[key.text] = key.pos
		value, err := convert(v.Value)
		if err != nil {
			return err
		}
		n.pairs = append(n.pairs, pair{key.text, key.pos, value})
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
		n.items = append(n.items, item.rejoinColon())
	}
	return nil
}

// rejoinColon works around a bug in the YAML library (goccy/go-yaml issue 832). In a list inside a
// mapping in braces, the library parses the text member:2 as a mapping, although no space follows
// the colon.
func (n *node) rejoinColon() *node {
	if n.kind != mapping || len(n.pairs) != 1 {
		return n
	}
	p := n.pairs[0]
	v := p.value
	gap := position{line: p.pos.line, column: p.pos.column + utf8.RuneCountInString(p.key) + 1}
	if v.kind != scalar || v.quoted || v.pos != gap {
		return n
	}
	return &node{kind: scalar, text: p.key + ":" + v.text, pos: p.pos, raw: n.raw}
}

// field returns the value of a key in a mapping, or n itself if the mapping does not have the key.
func (n *node) field(key string) *node {
	for _, pair := range n.pairs {
		if pair.key == key {
			return pair.value
		}
	}
	return n
}

// Each of the following methods reads one value. It returns the value, or an *Error that has a
// position and names the key.

func (n *node) scalarText(key string) (string, error) {
	if n.kind != scalar {
		return "", n.pos.errorf("%s must be text, not %s", key, n.describe())
	}
	return n.text, nil
}

// singleLine reads a text that must not be empty and must be on one line.
func (n *node) singleLine(key string) (string, error) {
	s, err := n.scalarText(key)
	if err == nil && strings.TrimSpace(s) == "" {
		return "", n.pos.errorf("%s is empty; give it a value or remove the key", key)
	}
	if err == nil && strings.ContainsAny(s, "\n\r") {
		return "", n.pos.errorf("%s must be text on a single line", key)
	}
	return s, err
}

func (n *node) integer(key string) (int64, error) {
	return parseUnquoted(n, key, "a whole number", text.ParseInteger)
}

func (n *node) int(key string) (int, error) {
	i, err := n.integer(key)
	return int(i), err
}

func (n *node) number(key string) (float64, error) {
	return parseUnquoted(n, key, "a number", text.ParseNumber)
}

func (n *node) boolean(key string) (bool, error) {
	return parseUnquoted(n, key, "true or false", func(s string) (bool, error) {
		if s != "true" && s != "false" {
			return false, errors.New("write true or false")
		}
		return s == "true", nil
	})
}

// parseUnquoted reads a scalar other than text, such as a number, which must not be quoted.
func parseUnquoted[T any](n *node, key, what string, parse func(string) (T, error)) (v T, err error) {
	if n.kind == scalar && !n.quoted {
		v, err = parse(n.text)
		switch {
		case err == nil:
			return v, nil
		case errors.Is(err, text.ErrRange):
			return v, n.pos.errorf("%s is %s, which is far too large", key, n.text)
		}
	}
	return v, n.pos.errorf("%s must be %s, not %s", key, what, n.describe())
}

// parseWord reads a word and parses it. If an error does not mention the key, parseWord puts the
// key in front of it.
func parseWord[T any](n *node, key string, parse func(string) (T, error)) (T, error) {
	var zero T
	if n.kind != scalar {
		return zero, n.pos.errorf("%s must be a single value, not %s", key, n.describe())
	}
	v, err := parse(n.text)
	switch {
	case err == nil:
		return v, nil
	case strings.Contains(err.Error(), key):
		return zero, n.pos.errorf("%v", err)
	}
	return zero, n.pos.errorf("%s: %v", key, err)
}

// words reads a list of words, or a text that has words separated by commas.
func (n *node) words(key string) ([]string, error) {
	if n.kind == scalar {
		var out []string
		for part := range strings.SplitSeq(n.text, ",") {
			out = append(out, strings.TrimSpace(part))
		}
		return out, nil
	}
	if n.kind != list {
		return nil, n.pos.errorf("%s must be a list, not %s", key, n.describe())
	}
	var out []string
	for _, item := range n.items {
		s, err := item.singleLine("an entry of " + key)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// fields reads a mapping whose keys are known, in the order of the file.
func (n *node) fields(key string, readers map[string]func(*node) error) error {
	if n.kind != mapping {
		return n.pos.errorf("%s must be a mapping, not %s", key, n.describe())
	}
	for _, p := range n.pairs {
		read, ok := readers[p.key]
		if !ok {
			return p.pos.errorf("%s has no key %q%s", key, p.key, suggestOrList(p.key, sortedKeys(readers)))
		}
		if err := read(p.value); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
