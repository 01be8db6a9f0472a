package scenario

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
)

// FuzzParse searches for a file with which one of these errors occurs: Parse panics; Parse accepts
// the file although the plan breaks a rule; Parse accepts the file although the JSON Schema refuses
// it; or Parse refuses the file without an error message.
func FuzzParse(f *testing.F) {
	schema := CompileSchema(f, shelf{})
	f.Add(quick())
	for _, name := range []string{"etcd-read-write-mix", "etcd-open-loop-steps"} {
		data, err := os.ReadFile("../../scenarios/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("hosts: [{name: a, address: 'bench@[::1]:22', via: ssh, dir: /data}]\ntrials: [{store: etcd, members: 1, operation: put}]"))
	for _, c := range refused(f) {
		f.Add([]byte(c.file))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("f.yaml", data, shelf{}, Options{})
		if err != nil {
			var es file.Errors
			if !errors.As(err, &es) || len(es) == 0 || s != nil {
				t.Fatalf("refused with %T: %v", err, err)
			}
			for _, e := range es {
				if e.Text == "" || e.File != "f.yaml" || e.Line < 0 || e.Line > 0 && e.Column < 1 || strings.Contains(e.Text, "goccy") {
					t.Fatalf("the error has no text or no position: %#v", e)
				}
			}
			return
		}
		if len(s.Trials) == 0 || len(s.Trials) > maxTrials || len(s.Lines()) != len(s.Trials)+1 {
			t.Fatalf("%d trials, %d lines", len(s.Trials), len(s.Lines()))
		}
		for i := range s.Trials {
			if err := s.Trials[i].Load.wrong(); err != nil {
				t.Fatalf("the file is accepted, but its trial %d is not valid: %v", i, err)
			}
		}
		checkRounds(t, s)
		if v, err := EditorValue(data); err != nil {
			t.Fatal(err)
		} else if v.(map[string]any)["defaults"] == nil { // the schema also checks defaults that no trial uses
			if err := schema.Validate(v); err != nil {
				t.Fatalf("the file is accepted, but the JSON Schema refuses it: %v", err)
			}
		}
		if _, err := Parse("f.yaml", data, shelf{}, Options{Scale: 0.01, Store: "slow"}); err != nil {
			var es file.Errors
			if !errors.As(err, &es) || len(es) == 0 {
				t.Fatalf("the scaled scenario is refused with %T: %v", err, err)
			}
		}
	})
}
