package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// computing lists the operators that apply only to numbers.
var computing = map[token.Token]bool{
	token.SUB: true, token.MUL: true, token.QUO: true, token.REM: true,
	token.SUB_ASSIGN: true, token.MUL_ASSIGN: true, token.QUO_ASSIGN: true,
}

// TestRenderersComputeNothing checks that renderers do no arithmetic. The package analyze computes
// and tests every figure, so that all formats show the same figures. Compute a new figure in
// analyze. Code that only formats a number belongs in internal/text.
func TestRenderersComputeNothing(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			if path := strings.Trim(i.Path.Value, `"`); path == "math" || path == "sort" || strings.HasSuffix(path, "/internal/measure") {
				t.Errorf("%s imports %s: move the code that uses this package to analyze or readable", files.Position(i.Pos()), path)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.BinaryExpr:
				if computing[x.Op] {
					t.Errorf("%s computes with %s", files.Position(x.OpPos), x.Op)
				}
			case *ast.AssignStmt:
				if computing[x.Tok] {
					t.Errorf("%s computes with %s", files.Position(x.TokPos), x.Tok)
				}
			}
			return true
		})
	}
}
