package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// hostile is text that begins like a spreadsheet formula and contains terminal escapes, line
// breaks, right-to-left overrides, and markup of tables, HTML and links.
const hostile = "=1+1|\x1b]0;x\x07\x1b[2J\nFORGED line\r\u0085\u009b31m\x7f\u202eevil\u2066 \U000e0041" +
	"<b>|</b>[link](https://example.test)![i](x)```\n```\nFORGED fence\t& www.example.test"

// A run directory may come from an untrusted source. Whatever texts it contains, commands must
// print and write only printable text. The test covers each field separately, through reflection.
func TestRunDirectoriesAreShownPrintable(t *testing.T) {
	settle.SkipUnderRace(t)
	dir := recorded3(t)
	plain := readRaw(t, dir)
	events := filepath.Join(dir, plain.Trials[0].Folder, "events.jsonl")
	var event record.Event
	fill(reflect.ValueOf(&event).Elem(), "", func(string, string) string { return hostile })
	event.Time, event.First = *plain.Trials[0].Opened, *plain.Trials[0].Opened
	var lines []byte
	for _, kind := range []string{hostile, "election", "slow_fsync"} {
		event.Kind = kind
		lines = append(append(lines, encoded(t, event)...), '\n')
	}
	if err := os.WriteFile(events, lines, 0o600); err != nil {
		t.Fatal(err)
	}

	t.Run("all", func(t *testing.T) {
		for _, long := range []string{"", strings.Repeat("A", 1<<13)} {
			run := readRaw(t, dir)
			searched := record.Capacity{WarmUp: &record.WarmUp{PerSecond: []float64{1}}, LowerPerSecond: 1, Trials: []record.CapacityTrial{{Rate: 1, BadShares: []*float64{}}}}
			run.CapacityByParameter = &record.CapacityByParameter{Searches: []record.CapacitySearch{{Capacity: searched}}}
			fill(reflect.ValueOf(run).Elem(), "", func(field, was string) string {
				if field == "Schema" || field == "Folder" || field == "State" || field == "Arrival" {
					return was
				}
				// This field contains a file with many lines, which only JSON output shows.
				if field == "Scenario" {
					return hostile
				}
				return hostile + long
			})
			place := writeRun(t, dir, run)
			for _, args := range [][]string{
				{"report", place}, {"compare", place, place}, {"report", place, "--threshold", hostile + "<3"},
				{"report", place, "--threshold", "p99<1ns"}, {"report", filepath.Join(place, hostile)},
				{"compare", place, place, "--format", "json"},
				{"report", place, "--format", "trace"}, {"report", place, "--format", "csv"}, {"compare", place, place, "--format", "csv"},
				{"compare", place, place, "--format", "markdown"},
				{"capacity", "share", place, "--rate", "1"},
				{"history", place, "--wide"}, {"history", place, "--format", "json"}, {"history", place, "--format", "csv"}, {"history", place, "--format", "markdown"},
			} {
				checkShown(t, args...)
			}
			for _, format := range []string{"text", "json", "csv", "markdown", "dbtester"} {
				out := filepath.Join(t.TempDir(), "files")
				checkShown(t, "report", place, "--format", format, "--out", out)
				checkFiles(t, out)
			}
		}
	})
	t.Run("each", func(t *testing.T) {
		all := readRaw(t, dir)
		if !settle.Long() { // the third trial has the same texts as the second
			all.Trials = all.Trials[:2]
		}
		count := fill(reflect.ValueOf(all).Elem(), "", func(_, was string) string { return was })
		if count < 60 {
			t.Fatalf("only %d texts were found in a run", count)
		}
		place := writeRun(t, dir, plain)
		for only := range count {
			run, at, name := readRaw(t, dir), -1, ""
			fill(reflect.ValueOf(run).Elem(), "", func(field, was string) string {
				if at++; at != only {
					return was
				}
				name = field
				return hostile
			})
			t.Run(fmt.Sprintf("%d-%s", only, name), func(t *testing.T) {
				save(t, place, run)
				formats := []string{"text", "markdown", "csv"}
				// In CI, each text is checked in one format. The loop above checks all texts in all
				// formats.
				if !settle.Long() {
					formats = formats[only%3:][:1]
				}
				for _, format := range formats {
					checkReport(t, place, "--format", format)
				}
			})
		}
	})
}

// recorded3 returns the directory of a run with three repeats against a null server.
func recorded3(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"bench", "mixed", "--endpoints", startNullServer(t), "--total", "300", "--repeats", "3", "--out", dir},
		strings.NewReader(""), &stdout, &stderr); code != command.ExitSuccess && code != command.ExitFailed {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	return dir
}

// readRaw decodes a run.json without the checks that record.Parse does.
func readRaw(t *testing.T, dir string) *record.Run {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "run.json"))
	run := &record.Run{}
	if err == nil {
		err = json.Unmarshal(b, run)
	}
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// writeRun copies the run directory `dir`, stores `run` as the copy's run.json, and returns the
// path of the copy.
func writeRun(t *testing.T, dir string, run *record.Run) string {
	t.Helper()
	place := t.TempDir()
	if err := os.CopyFS(place, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	save(t, place, run)
	return place
}

func save(t *testing.T, dir string, run *record.Run) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "run.json"), encoded(t, run), 0o600); err != nil {
		t.Fatal(err)
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fill first adds missing values to v: it adds an element to each empty slice and map, and
// allocates structs for nil pointers. It then replaces every string in v with the result of the
// function `text`, which receives the name of the field and the old string. It returns the number
// of strings.
func fill(v reflect.Value, field string, text func(field, was string) string) (count int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(field, v.String()))
		return 1
	case reflect.Pointer:
		if v.IsNil() {
			if v.Type().Elem().Kind() != reflect.Struct { // a figure that is unknown
				return 0
			}
			v.Set(reflect.New(v.Type().Elem()))
		}
		return fill(v.Elem(), field, text)
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{text(field, "key"): text(field, "value")}))
		return 2
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && f.Tag.Get("json") != "-" {
				count += fill(v.Field(i), f.Name, text)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			count += fill(v.Index(i), field, text)
		}
	case reflect.Map:
		return fillMap(v, field, text)
	}
	return count
}

func fillMap(v reflect.Value, field string, text func(field, was string) string) (count int) {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	key := reflect.New(v.Type().Key()).Elem()
	value := reflect.New(v.Type().Elem()).Elem()
	count = fill(key, field, text) + fill(value, field, text)
	v.SetMapIndex(key, value)
	return count
}

// checkShown runs a command line and checks that all its output is printable.
func checkShown(t *testing.T, args ...string) {
	t.Helper()
	checkPrints(t, args, func(a *commandLine) error { return a.execute(t.Context(), args) })
}

// checkReport runs the command `report` and checks that all its output is printable. It is faster
// than checkShown, because it builds only this command.
func checkReport(t *testing.T, args ...string) {
	t.Helper()
	checkPrints(t, args, func(a *commandLine) error {
		c := a.reportCommand()
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(args)
		return c.ExecuteContext(t.Context())
	})
}

func checkPrints(t *testing.T, args []string, do func(*commandLine) error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	runAction(strings.NewReader(""), &stdout, &stderr, do)
	for name, text := range map[string]string{"standard output": stdout.String(), "standard error": stderr.String()} {
		what := fmt.Sprintf("%.200q: %s", args, name)
		if strings.Contains(text, "internal error") {
			t.Errorf("%s: %s", what, text)
		}
		looksRight(t, what, text)
	}
	for i, arg := range args {
		if arg == "--format" && !slices.Contains(args, "--out") && len(args) > i+1 && stdout.Len() > 0 {
			checkFormat(t, fmt.Sprintf("%.200q", args), args[i+1], stdout.String())
		}
	}
}

// checkFiles checks that all files of a folder are printable and well-formed.
func checkFiles(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	more, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	for _, path := range append(files, more...) {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // skips folders
		}
		looksRight(t, path, string(b))
		checkFormat(t, path, map[string]string{".csv": "csv", ".md": "markdown", ".json": "json"}[filepath.Ext(path)], string(b))
	}
}

// looksRight fails the test unless text is printable.
func looksRight(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if _, n := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && n == 1 || r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
			t.Fatalf("%s: the output contains the character %U in ...%q...", what, r, text[max(0, i-60):min(i+60, len(text))])
		}
	}
	for line := range strings.Lines(text) {
		// Wrapped text is indented, so a word from the run never begins a line.
		if strings.HasPrefix(line, "FORGED") {
			t.Fatalf("%s: the output contains the forged line %q", what, line)
		}
	}
	if strings.Contains(text, strings.Repeat("A", 5000)) {
		t.Fatalf("%s: the output contains a text of unlimited length", what)
	}
}

var unescaped = regexp.MustCompile(`(^|[^\\])(\\\\)*\|`)

func checkFormat(t *testing.T, what, format, text string) {
	t.Helper()
	switch format {
	case "json", "trace":
		if !json.Valid([]byte(text)) {
			t.Errorf("%s: the output is not valid JSON", what)
		}
	case "csv":
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for _, row := range rows {
			for _, cell := range row {
				if _, err := strconv.ParseFloat(cell, 64); err != nil && cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
					t.Fatalf("%s: the cell %q begins like a spreadsheet formula", what, cell)
				}
			}
		}
	case "markdown":
		columns, fence := 0, ""
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case fence != "" && line == fence:
				fence = ""
			case fence != "":
			case strings.HasPrefix(line, "```"):
				fence = line
			case strings.Contains(line, "<"), strings.Contains(strings.ReplaceAll(line, `\[`, ""), "["), strings.Contains(line, "://"), strings.Contains(line, "www.e"):
				t.Fatalf("%s: the line contains HTML or a link: %q", what, line)
			case strings.HasPrefix(line, "| "):
				n := len(unescaped.FindAllString(line, -1))
				if columns == 0 {
					columns = n
				}
				if n != columns {
					t.Fatalf("%s: the row has %d cells, want %d: %q", what, n, columns, line)
				}
			default:
				columns = 0
			}
		}
	}
}
