package golden

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	words "github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// ruleBlocks returns the generators for the tables in docs/reference/rules.md.
func ruleBlocks() map[string]func(*block) string {
	return map[string]func(*block) string{"rules": ruleTable, "remedies": remedyTable}
}

// ruleFunction matches the names of functions that implement rules, such as R7GeneratorStarved.
var ruleFunction = regexp.MustCompile(`^R([0-9]+)[A-Z]`)

// ruleTable returns a table with a row for each rule: its number and name, the first sentence of
// its function's comment, and its limits.
func ruleTable(b *block) string {
	effect := "the effect is above " + words.Share(verdict.SuspectEffect)
	limits := map[string]string{
		"R4":  "–",
		"R11": "more than " + words.Share(verdict.MaxErrors) + " of the operations due failed",
		"R12": fmt.Sprintf("fewer than %d operations are beyond p99", verdict.MinBeyond),
		"R15": fmt.Sprintf("when the window opened, an operation in flight was older than %s and twice the p99, and the effect is above %s", words.Duration(float64(verdict.MinOldestInFlightAge)), words.Share(verdict.SuspectEffect)),
		"R25": fmt.Sprintf("the halves of a window of at least %d s differ by more than %s of their mean", 2*verdict.MinHalfSeconds, words.Share(verdict.MaxDrift)),
		"R28": fmt.Sprintf("on average, a worker's client completed at most %s as many operations as other workers' clients at the same members", words.Share(verdict.MinPace)),
		"R29": fmt.Sprintf("a worker's median response time differs by more than %s from that of other workers at the same members", words.Share(verdict.MaxMedianDistance)),
		"R32": fmt.Sprintf("a host's clock was set during the trial, or is uncertain by more than %s", words.Duration(verdict.SuspectClockNS)),
	}
	for _, n := range []int{5, 6, 7, 8, 9, 10, 16, 23, 27} {
		limits[fmt.Sprintf("R%d", n)] = effect
	}
	invalid := map[string]string{"R4": fmt.Sprintf("the figures imply a number of busy clients that differs from the number of clients by more than %s, even with an allowance of one longest operation at each edge of the window", words.Share(verdict.MaxLittleDeviation))}
	var rows [][]string
	files, err := filepath.Glob("../../verdict/*.go")
	must(b.t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		must(b.t, err)
		for _, d := range parsed.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || ruleFunction.FindString(f.Name.Name) == "" {
				continue
			}
			_, reports, found := strings.Cut(strings.ReplaceAll(f.Doc.Text(), "\n", " "), f.Name.Name+" reports ")
			if !found {
				b.t.Errorf("the comment on %s does not begin with what it reports", f.Name.Name)
			}
			reports, _, _ = strings.Cut(reports, ". ")
			reports, _, _ = strings.Cut(strings.TrimSuffix(strings.TrimSpace(reports), "."), ": ")
			rule := "R" + ruleFunction.FindStringSubmatch(f.Name.Name)[1]
			number, err := strconv.Atoi(rule[1:])
			must(b.t, err)
			name, _ := verdict.DescribeRule(number)
			rows = append(rows, []string{rule + " " + name, reports, "", limits[rule], invalid[rule]})
		}
	}
	number := func(row []string) int {
		digits, _, _ := strings.Cut(row[0][1:], " ")
		n, _ := strconv.Atoi(digits)
		return n
	}
	slices.SortFunc(rows, func(a, b []string) int { return number(a) - number(b) })
	return b.table([]string{"rule", "reports", "figures", "suspect if", "invalid if"}, rows)
}

// remedyTable returns a table with the number, name and remedy of each rule.
func remedyTable(b *block) string {
	var rows [][]string
	for number := 1; number <= verdict.Rules(); number++ {
		name, remedy := verdict.DescribeRule(number)
		rows = append(rows, []string{fmt.Sprintf("R%d %s", number, name), remedy})
	}
	return b.table([]string{"rule", "what to do"}, rows)
}
