package overtime

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

var noon = runs.Noon

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
