package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/readable"
)

// printStores prints one table of all stores, and below it what the words in
// it mean in each store.
func printStores(to io.Writer, all []storeInfo) error {
	rows := [][]string{{"store", "servers here", "operations", "reads", "in flight per connection"}}
	for _, s := range all {
		rows = append(rows, []string{s.Name, s.here(), names(s.Operations), names(s.Reads), s.inFlight()})
	}
	if err := readable.Table(to, rows); err != nil {
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
	if _, err := fmt.Fprintf(to, "\n%s\n", printable.Line(s.Name, printable.OfField)); err != nil {
		return err
	}
	var rows [][]string
	row := func(name, is string) { rows = append(rows, []string{"  " + name, is}) }
	for _, o := range s.Operations {
		row(o.Name, o.Is)
	}
	for _, r := range s.Reads {
		row(r.Name+" reads", r.Is)
	}
	for _, b := range s.Broken {
		row("no "+b.Name, b.Is)
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
	return readable.Table(to, rows)
}

// here says which of the store's servers this machine has.
func (s *storeInfo) here() string {
	var out []string
	if s.BuiltIn {
		out = append(out, strings.TrimSpace(s.BuiltInVersion+" built in"))
	}
	for _, server := range s.Servers {
		if server.Installed {
			out = append(out, server.Version)
		}
		if server.Problem != "" {
			out = append(out, server.Version+" damaged")
		}
	}
	if s.Unknown != "" {
		out = append(out, "others not known")
	}
	switch {
	case len(out) > 0:
		return strings.Join(out, ", ")
	case len(s.Servers) > 0:
		return "none installed"
	}
	return "by --exec only"
}

func (s *storeInfo) inFlight() string {
	if s.InFlight == 0 {
		return "no limit"
	}
	return fmt.Sprint(s.InFlight)
}

func names(meanings []meaning) string {
	out := make([]string, len(meanings))
	for i, m := range meanings {
		out[i] = m.Name
	}
	return strings.Join(out, " ")
}
