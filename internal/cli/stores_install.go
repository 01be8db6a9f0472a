package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// everyStore is the argument of `stores install` that selects all servers that can be installed.
const everyStore = "all"

func (a *commandLine) storesInstallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install NAME[@VERSION] | all",
		Short: "Download and build a store's real server in the user's cache folder",
		Long: `Download and build a store's real server in the user's cache folder. The version is
pinned, and the download is checked against a known hash. A server that is already
installed is only checked. Standard output has one line with the path of each server.`,
		Example: `  quorumbench stores install zookeeper
  quorumbench stores install consul@1.22.6
  quorumbench stores install all`,
		Args: command.ArgsBetween(1, 1, "a store (NAME or NAME@VERSION), or \"all\""),
		RunE: func(c *cobra.Command, args []string) error {
			sources, err := a.sources(args[0])
			if err != nil {
				return err
			}
			ctx, stop := command.Interruptible(c.Context(), func() {})
			defer stop()
			return a.install(ctx, sources)
		},
	}
}

// sources returns the servers that an argument of `stores install` selects.
func (a *commandLine) sources(arg string) ([]store.ServerSource, error) {
	if arg != everyStore {
		name, version, _ := strings.Cut(arg, "@")
		source, err := a.source(name, version)
		return []store.ServerSource{source}, err
	}
	var out []store.ServerSource
	for _, name := range a.Catalog.Stores() {
		st, err := a.Lookup(name)
		if err != nil {
			return nil, err
		}
		source, err := st.Server("")
		if err != nil {
			return nil, err
		}
		if source.Installable() {
			out = append(out, source)
		}
	}
	return out, nil
}

func (a *commandLine) source(name, version string) (store.ServerSource, error) {
	st, err := a.Lookup(name)
	if err != nil {
		return store.ServerSource{}, command.Usage("%w", err)
	}
	source, err := st.Server("")
	switch {
	case err != nil:
		return source, err
	case source.Kind == store.BuiltIn:
		return source, command.Usage("the server of %s is built into quorumbench; to use another server, give its path with --exec", name)
	case source.Kind == store.HandBuilt:
		return source, command.Usage("the server of %s cannot be installed, because no registry has it; %sgive the path of its binary with --exec", name, source.ManualRecipe())
	}
	if source, err = st.Server(version); err != nil {
		return source, command.Usage("%w", err)
	}
	return source, nil
}

// install installs the servers one after the other. If a server cannot be installed, install
// continues with the next one. It returns all errors joined.
func (a *commandLine) install(ctx context.Context, sources []store.ServerSource) error {
	d := a.Display(a.Screen)
	var failed []error
	for _, source := range sources {
		head := source.Store + " " + source.Version
		began := time.Now()
		shown := &installing{display: d, head: head, elapsed: func() time.Duration { return time.Since(began) }}
		path, err := install.Ensure(ctx, source, shown.show)
		d.Clear()
		switch {
		case err != nil && ctx.Err() != nil:
			interrupted := fmt.Errorf("interrupted; no part of %s is left", head)
			return &command.Exit{Code: command.ExitInterrupted, Cause: errors.Join(append(failed, interrupted)...)}
		case err != nil:
			failed = append(failed, err)
		default:
			a.Printf("%s %s\n", head, path)
			if shown.begun.Load() && source.License != "" {
				d.Note(head + ": " + source.License)
			}
		}
	}
	return errors.Join(failed...)
}

// installing shows the progress of an installation.
type installing struct {
	display *command.Display
	head    string
	elapsed func() time.Duration
	begun   atomic.Bool // set if the server was not installed before
}

func (i *installing) show(u install.Update) {
	i.begun.Store(true)
	text := i.head + ": " + u.Step
	if u.Detail != "" {
		text += ", " + u.Detail
	}
	i.display.Update(u.Step, i.elapsed(), text)
}
