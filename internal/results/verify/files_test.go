package verify

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// TestIncompleteFileCausesNoFindings checks that CheckFiles does not judge responses from the end of
// a file that was not completed, because the writes that explain them may be missing.
func TestIncompleteFileCausesNoFindings(t *testing.T) {
	m := line(put(11, 1), put(12, 2), get(13, 13, 7)) // the third response shows a write that is missing
	m.header.Timeout = 1e9
	for _, c := range []struct {
		close    func(*history.Writer) error
		verified uint64
		wrong    int
		sentence string
	}{
		{(*history.Writer).Close, 3, 1, ""},
		{(*history.Writer).CloseIncomplete, 1, 0, "undecided: 2 operations at the end of an incomplete history, because missing operations may explain the responses"},
	} {
		path := filepath.Join(t.TempDir(), history.Name(1))
		w, err := history.Create(path, &m.header)
		if err != nil {
			t.Fatal(err)
		}
		r := w.Recorder()
		for i := range m.ops {
			r.Add(&m.ops[i])
		}
		r.Flush()
		if err := c.close(w); err != nil {
			t.Fatal(err)
		}
		v, err := CheckFiles(t.Context(), []string{path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v.VerifiedOperations != c.verified || len(v.WrongByKind) != c.wrong || c.sentence != "" && !slices.Contains(v.Undecided, c.sentence) {
			t.Errorf("%d operations verified, violations %v, sentences %q", v.VerifiedOperations, v.WrongByKind, v.Undecided)
		}
	}
}
