// Package file reads the YAML text of a scenario file into values with positions, and describes
// errors at these positions. It does not know the meaning of any key.
package file

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
	MaxBytes = 128 << 10
	maxDepth = 32 // brackets that are open at once; list entries, keys, tags and anchors in one line
)

// Parse parses YAML and returns its top-level mapping, or nil for an empty file.
func Parse(data []byte) (n *Node, err error) {
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
	if len(data) > MaxBytes {
		return &Error{Text: fmt.Sprintf("the file has %d bytes, but a scenario can have at most %d", len(data), MaxBytes)}
	}
	for i, line := range strings.Split(string(data), "\n") {
		if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
			return Position{Line: i + 1, column: 1}.Errorf("this line is not UTF-8 text; a scenario must be a YAML file")
		}
	}
	return nil
}

// checkDepth rejects nesting that would make the parser recurse too deeply. Nesting by indentation
// needs no limit: a line at level n has at least n columns, so MaxBytes limits the depth.
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
			return tokenPosition(t).Errorf("lists and mappings are nested more than %d levels deep here", maxDepth)
		}
	}
	return nil
}

func syntaxError(err error) *Error {
	var known yaml.Error
	if errors.As(err, &known) {
		text := "this is not valid YAML: " + strings.TrimSpace(known.GetMessage()) + "; check the brackets, quotes and indentation"
		if t := known.GetToken(); t != nil && t.Position != nil {
			return tokenPosition(t).Errorf("%s", text)
		}
		return &Error{Text: text}
	}
	return &Error{Text: "this is not valid YAML: " + strings.TrimSpace(err.Error())}
}

func rootMapping(file *ast.File) (*Node, error) {
	var root ast.Node
	for _, d := range file.Docs {
		switch b := d.Body.(type) {
		case nil, *ast.DirectiveNode:
		default:
			if root != nil {
				return nil, startPosition(b).Errorf("a second YAML document begins here, but a scenario file must have only one")
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
	if n.Kind != Mapping {
		return nil, n.Pos.Errorf("a scenario must be a mapping with keys such as name and trials, not %s", n.Describe())
	}
	return n, nil
}

// tokenPosition returns the position of a token. The library counts the columns of some tokens from
// 0.
func tokenPosition(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{Line: 1, column: 1}
	}
	return Position{Line: max(t.Position.Line, 1), column: max(t.Position.Column, 1)}
}

// Node is a value in a scenario file. It supports the part of YAML that scenarios use. Anchors,
// aliases, merge keys and tags are deliberately not supported: the keys `defaults` and `matrix`
// serve the same purpose more clearly, and without them each position belongs to a single value.
type Node struct {
	Kind     Kind
	Text     string // of a scalar
	Quoted   bool   // a quoted scalar is never a number
	Items    []*Node
	Pairs    []Pair
	Pos      Position
	raw      ast.Node // for a store's settings
	FromFlag bool     // set if the value is from a flag
	// IsPartial is set if the mapping only changes entries of another mapping. When the other
	// mapping is known, the changed entries are merged into it.
	IsPartial bool
	// base is the mapping over which MergedOver merged this mapping, or nil.
	base *Node
}

// Pair is an entry of a mapping.
type Pair struct {
	Key   string
	Pos   Position // of the key
	Value *Node
}

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Scalar
	List
	Mapping
)

// Describe describes the value for error messages.
func (n *Node) Describe() string {
	switch n.Kind {
	case Null:
		return "nothing"
	case List:
		return "a list"
	case Mapping:
		return "a mapping"
	}
	const maxLength = 40
	if text := []rune(n.Text); len(text) > maxLength {
		return `"` + string(text[:maxLength]) + `..."`
	}
	if n.Quoted || n.Text == "" || strings.ContainsAny(n.Text, " \n") {
		return `"` + n.Text + `"`
	}
	return n.Text
}

// DescribeMismatch describes a value that is not of the kind `want`, or that is of this kind but
// empty.
func (n *Node) DescribeMismatch(want Kind) string {
	if n.Kind == want {
		return "an empty value"
	}
	return n.Describe()
}

// convert converts the library's syntax tree to nodes.
func convert(source ast.Node) (*Node, error) {
	n := &Node{Pos: startPosition(source), raw: source}
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
		n.Kind, n.Text, n.Quoted = Scalar, v.Value.Value, true
		return n, nil
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return nil, n.Pos.Errorf("YAML anchors, aliases and merge keys are not supported; put values that trials share under defaults")
	case *ast.TagNode:
		return nil, n.Pos.Errorf("YAML tags such as %q are not supported; quote the text", v.Start.Value)
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		t := source.GetToken()
		n.Kind, n.Text = Scalar, t.Value
		n.Quoted = t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
		return n, nil
	}
	return nil, n.Pos.Errorf("this YAML syntax is not supported; write a value, a list or a mapping")
}

// startPosition returns the position at which a value begins. For a mapping in block style, the
// library reports the position of the first colon.
func startPosition(n ast.Node) Position {
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

func (n *Node) addPairs(values []*ast.MappingValueNode) error {
	n.Kind = Mapping
	seen := make(map[string]Position)
	for _, v := range values {
		key, err := convert(v.Key)
		if err != nil {
			return err
		}
		if key.Kind != Scalar {
			return key.Pos.Errorf("a key must be a word, not %s", key.Describe())
		}
		if first, twice := seen[key.Text]; twice {
			return key.Pos.Errorf("%s is given twice; the first is in line %d", key.Text, first.Line)
		}
		seen[key.Text] = key.Pos
		value, err := convert(v.Value)
		if err != nil {
			return err
		}
		n.Pairs = append(n.Pairs, Pair{key.Text, key.Pos, value})
	}
	return nil
}

func (n *Node) addItems(values []ast.Node) error {
	n.Kind = List
	for _, v := range values {
		item, err := convert(v)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item.rejoinColon())
	}
	return nil
}

// rejoinColon works around a bug in the YAML library (goccy/go-yaml issue 832). In a list inside a
// mapping in braces, the library parses the text member:2 as a mapping, although no space follows
// the colon.
func (n *Node) rejoinColon() *Node {
	if n.Kind != Mapping || len(n.Pairs) != 1 {
		return n
	}
	p := n.Pairs[0]
	v := p.Value
	gap := Position{Line: p.Pos.Line, column: p.Pos.column + utf8.RuneCountInString(p.Key) + 1}
	if v.Kind != Scalar || v.Quoted || v.Pos != gap {
		return n
	}
	return &Node{Kind: Scalar, Text: p.Key + ":" + v.Text, Pos: p.Pos, raw: n.raw}
}

// Field returns the value of a key in a mapping, or n itself if the mapping does not have the key.
func (n *Node) Field(key string) *Node {
	for _, pair := range n.Pairs {
		if pair.Key == key {
			return pair.Value
		}
	}
	return n
}

// ScalarText reads a single value as text. This method and the others that read a value return the
// value, or an *Error that has a position and names the key.
func (n *Node) ScalarText(key string) (string, error) {
	if n.Kind != Scalar {
		return "", n.Pos.Errorf("%s must be text, not %s", key, n.Describe())
	}
	return n.Text, nil
}

// SingleLine reads a text that must not be empty and must be on one line.
func (n *Node) SingleLine(key string) (string, error) {
	s, err := n.ScalarText(key)
	if err == nil && strings.TrimSpace(s) == "" {
		return "", n.Pos.Errorf("%s is empty; give it a value or remove the key", key)
	}
	if err == nil && strings.ContainsAny(s, "\n\r") {
		return "", n.Pos.Errorf("%s must be text on a single line", key)
	}
	return s, err
}

// Integer reads a whole number as an int64.
func (n *Node) Integer(key string) (int64, error) {
	return parseUnquoted(n, key, "a whole number", text.ParseInteger)
}

// Int does the same as Integer, but returns an int.
func (n *Node) Int(key string) (int, error) {
	i, err := n.Integer(key)
	return int(i), err
}

// Number reads a number.
func (n *Node) Number(key string) (float64, error) {
	return parseUnquoted(n, key, "a number", text.ParseNumber)
}

// Boolean reads true or false.
func (n *Node) Boolean(key string) (bool, error) {
	return parseUnquoted(n, key, "true or false", func(s string) (bool, error) {
		if s != "true" && s != "false" {
			return false, errors.New("write true or false")
		}
		return s == "true", nil
	})
}

// parseUnquoted reads a scalar other than text, such as a number, which must not be quoted.
func parseUnquoted[T any](n *Node, key, what string, parse func(string) (T, error)) (v T, err error) {
	if n.Kind == Scalar && !n.Quoted {
		v, err = parse(n.Text)
		switch {
		case err == nil:
			return v, nil
		case errors.Is(err, text.ErrRange):
			return v, n.Pos.Errorf("%s is %s, which is far too large", key, n.Text)
		}
	}
	return v, n.Pos.Errorf("%s must be %s, not %s", key, what, n.Describe())
}

// ParseWord reads a word and parses it. If an error does not mention the key, ParseWord puts the
// key in front of it.
func ParseWord[T any](n *Node, key string, parse func(string) (T, error)) (T, error) {
	var zero T
	if n.Kind != Scalar {
		return zero, n.Pos.Errorf("%s must be a single value, not %s", key, n.Describe())
	}
	v, err := parse(n.Text)
	switch {
	case err == nil:
		return v, nil
	case strings.Contains(err.Error(), key):
		return zero, n.Pos.Errorf("%v", err)
	}
	return zero, n.Pos.Errorf("%s: %v", key, err)
}

// Words reads a list of words, or a text that has words separated by commas.
func (n *Node) Words(key string) ([]string, error) {
	if n.Kind == Scalar {
		var out []string
		for part := range strings.SplitSeq(n.Text, ",") {
			out = append(out, strings.TrimSpace(part))
		}
		return out, nil
	}
	if n.Kind != List {
		return nil, n.Pos.Errorf("%s must be a list, not %s", key, n.Describe())
	}
	var out []string
	for _, item := range n.Items {
		s, err := item.SingleLine("an entry of " + key)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// Fields reads a mapping whose keys are known, in the order of the file.
func (n *Node) Fields(key string, readers map[string]func(*Node) error) error {
	if n.Kind != Mapping {
		return n.Pos.Errorf("%s must be a mapping, not %s", key, n.Describe())
	}
	for _, p := range n.Pairs {
		read, ok := readers[p.Key]
		if !ok {
			return p.Pos.Errorf("%s has no key %q%s", key, p.Key, text.SuggestOrList(p.Key, slices.Sorted(maps.Keys(readers))))
		}
		if err := read(p.Value); err != nil {
			return err
		}
	}
	return nil
}

// SetPosition sets the position of a value and of all its parts.
func (n *Node) SetPosition(pos Position) {
	n.Pos = pos
	for i := range n.Pairs {
		n.Pairs[i].Pos = pos
		n.Pairs[i].Value.SetPosition(pos)
	}
	for _, item := range n.Items {
		item.SetPosition(pos)
	}
}

// MergedOver returns the mapping `base` with the entries of n added. An entry of n replaces an
// entry of `base` with the same key.
func (n *Node) MergedOver(base *Node) *Node {
	if n.base != nil {
		base = n.base.MergedOver(base)
	}
	out := &Node{Kind: Mapping, Pos: n.Pos, raw: n.raw, base: base}
	for _, p := range base.Pairs {
		if n.Field(p.Key) == n {
			out.Pairs = append(out.Pairs, p)
		}
	}
	out.Pairs = append(out.Pairs, n.Pairs...)
	return out
}
