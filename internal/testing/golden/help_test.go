package golden

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/cli"
)

// hidden are the commands that help does not list: the program starts itself with them.
var hidden = []string{"member", "disk", "network", "completion"}

// TestHelp holds the help of every command. It begins with that of the program and goes
// on with the commands that each help lists.
// It is not parallel, so that -update has written help.txt before TestReference reads it.
func TestHelp(t *testing.T) {
	var all strings.Builder
	walk(t, &all, nil)
	for _, name := range hidden {
		walk(t, &all, []string{name})
	}
	compare(t, "help.txt", all.String())
}

// listed finds the commands below another in its help.
var listed = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) +\S`)

func walk(t *testing.T, to *strings.Builder, command []string) {
	t.Helper()
	text := help(t, command)
	fmt.Fprintf(to, "==== %s\n\n%s\n", strings.Join(append([]string{"quorumbench"}, command...), " "), text)
	_, below, _ := strings.Cut(text, "Available Commands:\n")
	below, _, _ = strings.Cut(below, "\n\n")
	for _, found := range listed.FindAllStringSubmatch(below, -1) {
		walk(t, to, append(command[:len(command):len(command)], found[1]))
	}
}

func help(t *testing.T, command []string) string {
	t.Helper()
	var out, complaints bytes.Buffer
	args := append(command[:len(command):len(command)], "--help")
	if code := cli.Main(args, strings.NewReader(""), &out, &complaints); code != 0 || complaints.Len() > 0 {
		t.Fatalf("%q ended with %d and said %q", args, code, complaints.String())
	}
	return out.String()
}
