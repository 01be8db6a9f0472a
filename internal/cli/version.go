package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

func (a *commandLine) versionCommand() *cobra.Command {
	format := "text"
	c := &cobra.Command{
		Use: "version", Short: "Print the versions of the program, its servers and its files", Args: command.ArgsBetween(0, 0, ""),
		Long: `Print the version of the program, its commit and the commit's date, the version of Go,
the versions of the built-in servers, and the schemas of run directories that this
program reads and writes.`,
		Example: `  quorumbench version
  quorumbench version --format json`,
		RunE: func(*cobra.Command, []string) error { return a.printVersion(format) },
	}
	command.NewFlags(c.Flags()).Choice("format", &format, "output format: text, or one JSON object", "text", "json")
	return c
}

// versions is the result of the command `version`, which prints the fields with --format json.
type versions struct {
	command.Build
	BuiltIn     []builtInServer `json:"built_in_servers"`
	RunSchema   string          `json:"run_schema"`
	TrialSchema string          `json:"trial_schema"`
}

// builtInServer is the server of a store in the quorumbench binary.
type builtInServer struct {
	Store   string `json:"store"`
	Version string `json:"version"`
}

func (a *commandLine) findVersions() (*versions, error) {
	v := &versions{Build: command.ReadBuild(), RunSchema: record.RunSchema, TrialSchema: record.TrialSchema}
	for _, name := range a.Catalog.Stores() {
		st, err := a.Lookup(name)
		if err != nil {
			return nil, err
		}
		server, err := st.Server("")
		if err != nil {
			return nil, err
		}
		if server.Kind == store.BuiltIn {
			v.BuiltIn = append(v.BuiltIn, builtInServer{name, server.Version})
		}
	}
	return v, nil
}

func (a *commandLine) printVersion(format string) error {
	v, err := a.findVersions()
	if err != nil {
		return err
	}
	if format == "json" {
		out, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		a.Printf("%s\n", out)
		return nil
	}
	a.Printf("quorumbench %s\n", v.Version)
	rows := [][]string{}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{"  " + name, value})
		}
	}
	add("commit", v.Revision)
	add("date", v.Date)
	add("Go", v.Go+" "+v.Platform)
	for _, server := range v.BuiltIn {
		add(server.Store, server.Version+" (built in)")
	}
	add("run directories", v.RunSchema)
	return text.Table(a.Stdout, rows)
}
