package scenario

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a scenario file, far above any that a person writes: they keep a
// damaged or hostile one from using up memory.
const (
	maxFile  = 128 << 10 // bytes
	maxDepth = 32        // mappings and lists within each other, opened in one line
)

// document reads YAML and returns its one mapping; nil for an empty file. Its
// places are so many lines further down than in data.
func document(data []byte, down int) (n *node, err error) {
	// The YAML library is not ours, and no panic of it may reach a user.
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, &Error{Text: "this is not valid YAML, and so broken that no line can be told"}
		}
	}()
	if e := textual(data); e != nil {
		return nil, e
	}
	tokens := lexer.Tokenize(strings.TrimPrefix(string(data), "\ufeff"))
	if e := shallow(tokens); e != nil {
		return nil, e
	}
	for _, t := range tokens {
		t.Position.Line += down
	}
	// Keys given twice are refused later, with sentences of ours.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntax(err)
	}
	return body(file)
}

// textual refuses what is no text of a bounded length.
func textual(data []byte) *Error {
	if len(data) > maxFile {
		return &Error{Text: fmt.Sprintf("the file has %d bytes; a scenario has at most %d", len(data), maxFile)}
	}
	for i, line := range strings.Split(string(data), "\n") {
		if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
			return place{i + 1, 1}.errorf("this line is not text in UTF-8; a scenario is a YAML file")
		}
	}
	return nil
}

// shallow refuses nesting that would make the parser recurse without end.
// Nesting by indentation needs no limit: it costs a column a level.
func shallow(tokens token.Tokens) *Error {
	open, line, inLine := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, inLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			inLine++
		}
		if open > maxDepth || inLine > maxDepth {
			return at(t).errorf("lists and mappings are nested more than %d deep here", maxDepth)
		}
	}
	return nil
}

func syntax(err error) *Error {
	var known yaml.Error
	if errors.As(err, &known) {
		text := "this is not valid YAML: " + strings.TrimSpace(known.GetMessage())
		if t := known.GetToken(); t != nil && t.Position != nil {
			return at(t).errorf("%s", text)
		}
		return &Error{Text: text}
	}
	return &Error{Text: "this is not valid YAML: " + strings.TrimSpace(err.Error())}
}

func body(file *ast.File) (*node, error) {
	var root ast.Node
	for _, d := range file.Docs {
		switch b := d.Body.(type) {
		case nil, *ast.DirectiveNode:
		default:
			if root != nil {
				return nil, begin(b).errorf("a second YAML document begins here; a scenario is one")
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
		return nil, n.at.errorf("a scenario is a mapping of keys such as name and trials, not %s", n.what())
	}
	return n, nil
}

// at is where a token stands. The library counts the columns of some tokens
// from 0.
func at(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{1, 1}
	}
	return place{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}
