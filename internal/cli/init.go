package cli

import (
	"bytes"
	_ "embed" // for the first scenario
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/scenarios"
)

//go:embed first.yaml
var firstScenario string

// firstFile is the name of the file that `init` writes by default.
const firstFile = "scenario.yaml"

func (a *commandLine) initCommand() *cobra.Command {
	return &cobra.Command{
		Use: "init [FILE.yaml]", Short: "Write a first scenario file with comments", Args: command.ArgsBetween(0, 1, "one file name"),
		Long: `Write a first scenario file, with comments that explain every key, to ` + firstFile + `
or FILE.yaml. Write ` + scenario.SchemaFile + ` to the same folder, a JSON Schema with which
editors complete and check the file. Existing files are never overwritten.`,
		Example: `  quorumbench init
  quorumbench init mine.yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			file := firstFile
			if len(args) > 0 {
				file = args[0]
			}
			return a.writeFirstScenario(file)
		},
	}
}

// maxSchema is the maximum size of an existing schema in bytes. It is far larger than our schema.
const maxSchema = 4 << 20

// writeFirstScenario writes the first scenario to a file that does not exist yet, and the schema to
// the same folder.
func (a *commandLine) writeFirstScenario(path string) error {
	schema, err := scenario.Schema(a.Catalog)
	if err != nil {
		return err
	}
	schemaPath := filepath.Join(filepath.Dir(path), scenario.SchemaFile)
	existing, err := files.Read(schemaPath, maxSchema)
	_, missing := os.Lstat(schemaPath)
	if err != nil && missing == nil {
		return command.Usage("cannot compare the existing schema: %w; move or remove %s", err, schemaPath)
	}
	if err := createFile(path, []byte(firstScenario)); err != nil {
		return err
	}
	a.Printf("Wrote %s.\n", path)
	switch {
	case missing != nil:
		if err := createFile(schemaPath, schema); err != nil {
			return err
		}
		a.Printf("Wrote %s, with which editors complete and check scenario files.\n", schemaPath)
	case !bytes.Equal(existing, schema):
		a.Printf("Kept the existing %s, which differs from the current schema; quorumbench run --schema prints the current one.\n", schemaPath)
	}
	a.Printf("Try: quorumbench run --validate %s; quorumbench run %[1]s\n", scenarioArgument(path))
	return nil
}

// scenarioArgument returns the argument, quoted for a shell, with which other commands read the
// scenario file at a path. It adds a folder to a name that would select a built-in scenario,
// standard input or a flag.
func scenarioArgument(path string) string {
	if _, builtIn := scenarios.Read(path); builtIn || strings.HasPrefix(path, "-") {
		path = "." + string(filepath.Separator) + path
	}
	return text.ShellQuote(path)
}

// createFile writes a file that does not exist yet.
func createFile(path string, contents []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // #nosec G302 G304 -- the user's own file, without secrets
	var cause *fs.PathError
	switch {
	case errors.Is(err, fs.ErrExist):
		return command.Usage("%s already exists and was not overwritten; name another file: quorumbench init FILE.yaml", path)
	case errors.As(err, &cause):
		return command.Usage("cannot write %s: %w; name a file in an existing folder that you can write to", path, cause.Err)
	case err != nil:
		return err
	}
	if _, err = f.Write(contents); err != nil {
		_ = f.Close() // the first error is returned
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}
