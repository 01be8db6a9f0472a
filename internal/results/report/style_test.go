package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Colours mark the verdicts and the worst figures, and change nothing else.
func TestStyledTextDiffersOnlyInColours(t *testing.T) {
	settle.SkipUnderRace(t)
	run := severalStores()
	run.Trials[1].PerSecond = 1000
	for _, wide := range []bool{false, true} {
		for name, f := range map[string]Finding{"run": Run(run, nil, "runs/x"), "trial": Trial(&run.Trials[0], "runs/x")} {
			var plain, styled bytes.Buffer
			if err := Text(&plain, f, wide); err != nil {
				t.Fatal(err)
			}
			if err := StyledText(&styled, f, wide, text.Style{Colour: true}); err != nil {
				t.Fatal(err)
			}
			if got := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(styled.String(), ""); got != plain.String() {
				t.Errorf("without colours, the styled text of the %s is\n%s\nnot\n%s", name, got, plain.String())
			}
			if strings.Contains(plain.String(), "\x1b") || !strings.Contains(styled.String(), "valid\x1b[0m") {
				t.Errorf("the text of the %s is\n%q\nand the styled text\n%q", name, plain.String(), styled.String())
			}
			if name == "run" && !strings.Contains(styled.String(), "\x1b[31m") {
				t.Errorf("no worst figure is marked:\n%s", styled.String())
			}
		}
	}
}
