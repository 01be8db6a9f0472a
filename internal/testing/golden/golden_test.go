// Package golden tests that a change in the program's structure does not change what the program
// prints and sends. Each test generates a text and compares it with a file in testdata.
// `go test ./internal/testing/golden -update` writes the files. With -numbers the tests compare
// only the numbers in each text, to show that a change of wording did not change any figure.
//
//	help.txt          the help of every command
//	parameters.txt    the parameters of a trial: key, flag, meaning, default of the flag, range
//	figures.txt       the figures of a trial: name, field, column, unit, better direction
//	vocabulary.txt    operations, consistency levels, outcomes, roles, watch modes, events
//	faults.txt        the fault kinds, and the forms of a fault that each kind accepts or refuses
//	csv.txt           the columns of every CSV file of a run directory and of reports
//	json.txt          the keys of every JSON file and object, with their types
//	requests-*.txt    the bytes that a store's codec writes, for a fixed list of operations
//	runs/*            recorded runs, and their reports in every format
//
// TestReference compares the tables of docs/reference with the program: commands, parameters,
// figures, rules of the verdict, faults, files, and the capabilities of each store.
//
// Other packages have golden files, too. This package does not repeat what they test:
//   - internal/results/report/testdata: reports as text, Markdown, JUnit, gobench and dbtester, and
//     comparisons with comparisons.csv and comparisons.json
//   - internal/scenario/testdata: the errors in refused scenario files (refused.txt), and the
//     output of dry runs (*.plan)
//   - testdata/signals.txt in each store's folder: the signals in the store's logs
//   - internal/cli/testdata/script: the complete output of commands
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	update  = flag.Bool("update", false, "write the golden files anew")
	numbers = flag.Bool("numbers", false, "compare only the numbers of texts; with -update, fail if they differ, and write the files")
)

// number matches a number together with its unit.
var number = regexp.MustCompile(`-?\b[0-9]+(?:[.,:][0-9]+)*(?: ?(?:%|/s|ns\b|µs|ms\b|s\b|[KMGT]?i?B\b))?`)

// numbersOf returns the numbers in a text, in order. For some files, the text contains only a
// heading with a hash. numbersOf omits these headings.
func numbersOf(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if heading, isHash := strings.CutPrefix(line, "==== "); !isHash || !strings.Contains(heading, ": ") {
			lines = append(lines, line)
		}
	}
	return number.FindAllString(strings.Join(lines, ""), -1)
}

// compare compares a text with the file testdata/NAME. With -update, it writes the file instead.
func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *numbers {
		want, err := os.ReadFile(path)
		must(t, err)
		if diff := cmp.Diff(numbersOf(string(want)), numbersOf(got)); diff != "" {
			t.Errorf("the numbers of %s differ (-want +got):\n%s", path, diff)
		}
		if !*update {
			return
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./internal/testing/golden -update writes it", err)
	}
	if string(want) != got {
		t.Errorf("%s differs from the program's current output (-want +got); to accept the change, run go test ./internal/testing/golden -update:\n%s",
			path, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")))
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNumbersOf checks that numbersOf extracts numbers with their units and ignores hashes.
func TestNumbersOf(t *testing.T) {
	t.Parallel()
	text := "put 1,300/s p99 12.5 ms? (14 %), R7\n==== svg a.svg: 12 B, 6f2a\n3 KiB at 19:40:04.926, -0.5 s\n"
	want := []string{"1,300/s", "12.5 ms", "14 %", "3 KiB", "19:40:04.926", "-0.5 s"}
	if diff := cmp.Diff(want, numbersOf(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
