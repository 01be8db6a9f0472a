package scenario

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
)

type refusal struct{ name, file, why string }

// refused returns the cases in testdata/refused.txt. Each case has a line "-- NAME --", the file, a
// line "== why", and the expected sentences.
func refused(t testing.TB) []refusal {
	t.Helper()
	data, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []refusal
	for _, c := range strings.Split(string(data), "\n-- ")[1:] { // without the heading
		name, rest, _ := strings.Cut(c, " --\n")
		file, why, ok := strings.Cut(rest, "== why\n")
		if !ok {
			t.Fatalf("the case %s in testdata/refused.txt does not say why", name)
		}
		out = append(out, refusal{name, file, strings.TrimSuffix(why, "\n")})
	}
	if len(out) < 100 {
		t.Fatalf("testdata/refused.txt has only %d cases", len(out))
	}
	return out
}

// TestRefused checks the exact text and position of the error for every kind of invalid file.
func TestRefused(t *testing.T) {
	for _, c := range refused(t) {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse("f.yaml", []byte(c.file), shelf{}, Options{})
			if err == nil {
				t.Fatalf("the file is accepted with %d trials; want the error %s", len(s.Trials), c.why)
			}
			if diff := cmp.Diff(c.why, err.Error()); diff != "" {
				t.Errorf("the sentences differ (-want +got):\n%s", diff)
			}
			var es file.Errors
			if !errors.As(err, &es) {
				t.Errorf("the error is a %T, not Errors", err)
			}
		})
	}
}

func TestRefusedBytes(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"not UTF-8":  {"name: a\nseed: \xff\n", "f.yaml:2:1: this line is not UTF-8 text; a scenario must be a YAML file"},
		"zero byte":  {"name: a\x00b\n", "f.yaml:1:1: this line is not UTF-8 text; a scenario must be a YAML file"},
		"too large":  {strings.Repeat("# no\n", 300_000), "f.yaml: the file has 1500000 bytes, but a scenario can have at most 131072"},
		"deep dash":  {strings.Repeat("- ", 5000) + "a", "f.yaml:1:65: lists and mappings are nested more than 32 levels deep here"},
		"deep flow":  {"a: " + strings.Repeat("{a: ", 5000), "f.yaml:1:132: lists and mappings are nested more than 32 levels deep here"},
		"deep query": {strings.Repeat("? ", 5000) + "a", "f.yaml:1:65: lists and mappings are nested more than 32 levels deep here"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(c.data), shelf{}, Options{})
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestManyErrorsAreCutShort(t *testing.T) {
	_, err := Parse("f.yaml", []byte("trials:\n"+strings.Repeat("  - {stroe: etcd}\n", 30)), shelf{}, Options{})
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 11 || lines[10] != "and 20 more" || lines[9] != `f.yaml:11:6: unknown key "stroe"; did you mean "store"?` {
		t.Errorf("got %q", lines)
	}
}

func TestMissingFile(t *testing.T) {
	_, err := ParseFile("testdata/none.yaml", shelf{}, Options{})
	if !errors.Is(err, os.ErrNotExist) || err.Error() != "cannot read the scenario file testdata/none.yaml: no such file or directory" {
		t.Errorf("got %v", err)
	}
}

// TestEveryKeyIsSuggested misspells each key and expects that the error suggests the correct key.
func TestEveryKeyIsSuggested(t *testing.T) {
	for _, name := range trialKeys(byKey(Parameters(Apps()))) {
		if len(name) < 4 {
			continue // a three-letter key with an extra letter is too different for a suggestion
		}
		_, err := Parse("f.yaml", []byte("trials:\n  - {"+name+"q: 1}\n"), shelf{}, Options{})
		if want := `f.yaml:2:6: unknown key "` + name + `q"; did you mean "` + name + `"?`; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
