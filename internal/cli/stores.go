package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/text"
)

func (a *commandLine) storesCommand() *cobra.Command {
	format := "text"
	c := &cobra.Command{
		Use:   "stores",
		Short: "Show the stores, their servers and what their operations do, or install servers",
		Example: `  quorumbench stores
  quorumbench stores --format json`,
		Long: `Show the stores that quorumbench can measure, the servers on this machine, the
operations, and what each consistency level really guarantees.

"quorumbench stores install" downloads and builds a store's real server.`,
		Args: command.ArgsBetween(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			all, err := a.describeStores()
			if err != nil {
				return err
			}
			if format == "text" {
				return printStores(a.Stdout, all)
			}
			out, err := json.MarshalIndent(map[string]any{"stores": all}, "", "  ")
			if err != nil {
				return err
			}
			a.Printf("%s\n", out)
			return nil
		},
	}
	command.NewFlags(c.Flags()).Choice("format", &format, "output format: tables, or one JSON object", "text", "json")
	c.AddCommand(a.storesInstallCommand())
	return c
}

// storeInfo describes a store for the command `stores`, which prints the fields with --format json.
type storeInfo struct {
	Name string `json:"name"`
	// BuiltIn reports whether members run from the quorumbench binary. Their version is
	// BuiltInVersion.
	BuiltIn        bool         `json:"built_in"`
	BuiltInVersion string       `json:"built_in_version,omitempty"`
	Servers        []serverInfo `json:"servers"` // versions that can be installed
	// Unknown is the reason why quorumbench does not know which servers are installed, or an empty
	// string.
	Unknown    string    `json:"unknown,omitempty"`
	License    string    `json:"license,omitempty"`
	Operations []meaning `json:"operations"`
	Reads      []meaning `json:"reads"`
	Broken     []meaning `json:"broken"`                   // operations and reads that the protocol defines but that do not work
	InFlight   int       `json:"in_flight_per_connection"` // 0 for no limit
	Durability string    `json:"durability"`
}

// serverInfo is one version of a store's server.
type serverInfo struct {
	Version   string `json:"version"`
	Installed bool   `json:"installed"`
	Path      string `json:"path,omitempty"`
	Problem   string `json:"problem,omitempty"` // which file of the installed server is missing or changed, and how to build the server again
}

// meaning explains what an operation or a consistency level does in a store.
type meaning struct {
	Name        string `json:"name"`
	Explanation string `json:"is"`
}

func (a *commandLine) describeStores() ([]storeInfo, error) {
	var out []storeInfo
	for _, name := range a.Catalog.Stores() {
		st, err := a.Lookup(name)
		if err != nil {
			return nil, err
		}
		info, err := describeStore(st)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

func describeStore(st store.Store) (storeInfo, error) {
	can := st.Capabilities()
	info := storeInfo{
		Name: st.Name(), Servers: []serverInfo{}, Broken: []meaning{},
		InFlight: can.MaxInFlight, Durability: can.Durability,
	}
	for k := range kv.NumKinds {
		if is, ok := can.Operations[k]; ok {
			info.Operations = append(info.Operations, meaning{k.String(), is})
		}
		if why, ok := can.NoOperations[k]; ok {
			info.Broken = append(info.Broken, meaning{k.String(), why})
		}
	}
	for c := range kv.NumConsistencies {
		if is, ok := can.Reads[c]; ok {
			info.Reads = append(info.Reads, meaning{c.String(), is})
		}
		if why, ok := can.NoReads[c]; ok {
			info.Broken = append(info.Broken, meaning{c.String() + " reads", why})
		}
	}
	return info, info.findServers(st)
}

// findServers sets the version of the built-in server, and the versions that can be installed, with
// the path of each installed server.
func (info *storeInfo) findServers(st store.Store) error {
	first, err := st.Server("")
	if err != nil {
		return err
	}
	if first.Kind == store.BuiltIn {
		info.BuiltIn, info.BuiltInVersion = true, first.Version
	}
	if !first.Installable() {
		return nil
	}
	info.License = first.License
	if _, err := install.UserCache(); err != nil {
		info.Unknown = err.Error()
		return nil
	}
	for _, version := range first.Versions {
		source, err := st.Server(version)
		if err != nil {
			return err
		}
		server := serverInfo{Version: version}
		server.Path, server.Installed, err = install.Installed(source)
		if err != nil {
			server.Problem = err.Error()
		}
		info.Servers = append(info.Servers, server)
	}
	return nil
}

// printStores prints a table of all stores and, below it, the details of each store.
func printStores(to io.Writer, all []storeInfo) error {
	rows := [][]string{{"store", "servers here", "operations", "reads", "in flight per connection"}}
	for _, s := range all {
		rows = append(rows, []string{s.Name, s.installedVersions(), names(s.Operations), names(s.Reads), s.inFlight()})
	}
	if err := text.Table(to, rows); err != nil {
		return err
	}
	for _, s := range all {
		if err := printStore(to, s); err != nil {
			return err
		}
	}
	return nil
}

func printStore(to io.Writer, s storeInfo) error {
	if _, err := fmt.Fprintf(to, "\n%s\n", text.Line(s.Name, text.MaxField)); err != nil {
		return err
	}
	var rows [][]string
	row := func(name, is string) { rows = append(rows, []string{"  " + name, is}) }
	for _, o := range s.Operations {
		row(o.Name, o.Explanation)
	}
	for _, r := range s.Reads {
		row(r.Name+" reads", r.Explanation)
	}
	for _, b := range s.Broken {
		row("no "+b.Name, b.Explanation)
	}
	row("durability", s.Durability)
	if s.Unknown != "" {
		row("servers", s.Unknown)
	}
	for _, server := range s.Servers {
		switch {
		case server.Problem != "":
			row("server "+server.Version, server.Problem)
		case server.Installed:
			row("server "+server.Version, server.Path)
		default:
			row("server "+server.Version, "not installed: quorumbench stores install "+s.Name+"@"+server.Version)
		}
	}
	if s.License != "" {
		row("license", s.License)
	}
	return text.Table(to, rows)
}

// installedVersions returns the versions of the store's server that are on this machine.
func (info *storeInfo) installedVersions() string {
	var out []string
	if info.BuiltIn {
		out = append(out, strings.TrimSpace(info.BuiltInVersion+" built in"))
	}
	for _, server := range info.Servers {
		if server.Installed {
			out = append(out, server.Version)
		}
		if server.Problem != "" {
			out = append(out, server.Version+" damaged")
		}
	}
	if info.Unknown != "" {
		out = append(out, "others unknown")
	}
	switch {
	case len(out) > 0:
		return strings.Join(out, ", ")
	case len(info.Servers) > 0:
		return "none installed"
	}
	return "only with --exec"
}

func (info *storeInfo) inFlight() string {
	if info.InFlight == 0 {
		return "no limit"
	}
	return fmt.Sprint(info.InFlight)
}

func names(meanings []meaning) string {
	out := make([]string, len(meanings))
	for i, m := range meanings {
		out[i] = m.Name
	}
	return strings.Join(out, " ")
}
