package analyze

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

var noon = runs.Noon

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fig(x float64) figures.Value { return figures.Value{Number: x, Known: true} }
