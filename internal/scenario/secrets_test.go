package scenario

import (
	"strings"
	"testing"
)

// Comments may contain secrets. So the record contains no comments. The scenario in the record is
// otherwise unchanged.
func TestRecordHasNoComments(t *testing.T) {
	const file = `# the password is secret-1
name: a   # secret-2
description: "a # in quotes"
#secret-3

defaults: {store: etcd, duration: 1s}	# secret-4
trials:
  # - secret-5: b
  - operation: put # secret-6 # secret-7
    prefix: 'it''s#no comment'
    #  secret-8
  - {operation: get, key-space: 10} #secret-9
  - operation: put
    name: literal
    clients: 3
# secret-10`
	s, err := Parse("f.yaml", []byte(file), shelf{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := string(s.Source)
	if strings.Contains(kept, "secret") {
		t.Errorf("the record has comments:\n%s", kept)
	}
	if !strings.Contains(kept, `"a # in quotes"`) || !strings.Contains(kept, "it''s#no comment") {
		t.Errorf("more than the comments was removed:\n%s", kept)
	}
	if got, want := strings.Count(kept, "\n"), strings.Count(file, "\n"); got != want {
		t.Errorf("%d lines of %d", got, want)
	}
	again, err := Parse("f.yaml", s.Source, shelf{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := strings.Join(s.Lines(), "\n"), strings.Join(again.Lines(), "\n"); a != b || again.Description != "a # in quotes" {
		t.Errorf("the recorded source describes another scenario:\n%s\n%s", a, b)
	}
}
