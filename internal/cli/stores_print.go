package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/quorumbench/quorumbench/internal/printable"
)

// printStores prints one table of all stores, and below it what the words in
// it mean in each store.
func printStores(to io.Writer, all []storeInfo) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row(w, "store", "servers here", "operations", "reads", "in flight per connection")
	for _, s := range all {
		row(w, s.Name, s.here(), names(s.Operations), names(s.Reads), s.inFlight())
	}
	if err := w.Flush(); err != nil {
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
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w)
	row(w, s.Name) // a line without columns does not widen any
	for _, o := range s.Operations {
		row(w, "  "+o.Name, o.Is)
	}
	for _, r := range s.Reads {
		row(w, "  "+r.Name+" reads", r.Is)
	}
	for _, b := range s.Broken {
		row(w, "  no "+b.Name, b.Is)
	}
	row(w, "  durability", s.Durability)
	if s.Unknown != "" {
		row(w, "  servers", s.Unknown)
	}
	for _, server := range s.Servers {
		switch {
		case server.Problem != "":
			row(w, "  server "+server.Version, server.Problem)
		case server.Installed:
			row(w, "  server "+server.Version, server.Path)
		default:
			row(w, "  server "+server.Version, "not installed: quorumbench stores install "+s.Name+"@"+server.Version)
		}
	}
	if s.License != "" {
		row(w, "  license", s.License)
	}
	return w.Flush()
}

// row writes cells, which may be foreign. It ignores errors: a tabwriter returns
// them when it is flushed.
func row(w io.Writer, cells ...string) {
	for i := range cells {
		cells[i] = printable.Line(cells[i], printable.OfField)
	}
	_, _ = fmt.Fprintln(w, strings.Join(cells, "\t"))
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
