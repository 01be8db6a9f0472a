package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/scenarios"
)

// defaultScenario is the built-in scenario that `run` executes without an argument.
const defaultScenario = "quick"

// inspectFlags holds the flags of `run` that only show or check a scenario and run nothing.
type inspectFlags struct{ list, print, schema, validate, dryRun bool }

func (f *inspectFlags) register(r command.Flags) {
	r.Toggle("list", &f.list, "list the built-in scenarios, and run nothing")
	r.Toggle("print", &f.print, "print the file of a built-in scenario, and run nothing")
	r.Toggle("schema", &f.schema, "print the JSON Schema with which editors complete and check scenario files, and run nothing")
	r.Toggle("validate", &f.validate, "check the scenario for errors, and run nothing")
	r.Toggle("dry-run", &f.dryRun, "check the scenario, print the trials in the order in which they would run, and run nothing")
}

// check returns a usage error for flags that contradict each other.
func (f *inspectFlags) check(args []string, format string) error {
	var given []string
	for _, of := range []struct {
		flag string
		on   bool
	}{{"--list", f.list}, {"--print", f.print}, {"--schema", f.schema}, {"--validate", f.validate}, {"--dry-run", f.dryRun}} {
		if of.on {
			given = append(given, of.flag)
		}
	}
	switch {
	case len(given) == 0:
		return nil
	case len(given) > 1:
		return command.Usage("%s and %s print different outputs; give only one of them", given[0], given[1])
	case format == "json":
		return command.Usage("%s prints only text; remove --format json", given[0])
	case f.list && len(args) > 0:
		return command.Usage("--list lists all built-in scenarios and takes no argument; remove %q, or print that scenario with --print", args[0])
	case f.schema && len(args) > 0:
		return command.Usage("--schema prints one schema for all scenario files and takes no argument; remove %q", args[0])
	}
	return nil
}

// listScenarios prints the name and the description of each built-in scenario.
func (a *commandLine) listScenarios() error {
	rows := [][]string{{"scenario", "description"}}
	for _, name := range scenarios.Names() {
		s, err := a.load([]string{name}, scenario.Options{})
		if err != nil {
			return err
		}
		rows = append(rows, []string{name, s.Description})
	}
	if err := text.Table(a.Stdout, rows); err != nil {
		return err
	}
	a.Printf("\nTry: quorumbench run NAME; quorumbench run --print NAME prints the file.\n")
	return nil
}

// printScenario prints the file of a built-in scenario unchanged.
func (a *commandLine) printScenario(args []string) error {
	name := defaultScenario
	if len(args) > 0 {
		name = args[0]
	}
	file, found := scenarios.Read(name)
	if !found {
		return command.Usage("there is no built-in scenario %q%s", name, nearestScenario(name))
	}
	_, err := a.Stdout.Write(file)
	return err
}

// printSchema prints the JSON Schema of scenario files.
func (a *commandLine) printSchema() error {
	schema, err := scenario.Schema(a.Catalog)
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write(schema)
	return err
}

// load reads the scenario from standard input (-), from a built-in scenario or from a file. A
// built-in scenario takes precedence over a file with the same name, unless the path includes a
// folder, for example ./quick.
func (a *commandLine) load(args []string, o scenario.Options) (*scenario.Scenario, error) {
	name := defaultScenario
	if len(args) > 0 {
		name = args[0]
	}
	if name == "-" {
		text, err := a.readScenario()
		if err != nil {
			return nil, err
		}
		return scenario.Parse("standard-input", text, a.Catalog, o)
	}
	if file, found := scenarios.Read(name); found {
		return scenario.Parse(name+".yaml", file, a.Catalog, o)
	}
	s, err := scenario.ParseFile(name, a.Catalog, o)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w%s", err, nearestScenario(name))
	}
	return s, err
}

// readScenario reads the text of a scenario from standard input.
func (a *commandLine) readScenario() ([]byte, error) {
	text, err := scenario.ReadText(a.Stdin)
	if err != nil {
		return nil, command.Usage("cannot read the scenario from standard input: %w", err)
	}
	return text, nil
}

// nearestScenario returns the last part of an error about a missing file or scenario. This part
// names the built-in scenario with the most similar name, or the command that lists all built-in
// scenarios.
func nearestScenario(name string) string {
	base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	if _, found := scenarios.Read(base); !found {
		base = text.Nearest(base, scenarios.Names())
	}
	if base == "" {
		return "; quorumbench run --list lists the built-in scenarios"
	}
	return fmt.Sprintf("; did you mean the built-in scenario %s?", base)
}
