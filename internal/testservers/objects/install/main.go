// Install builds the servers of object stores that tests start, as
// `quorumbench stores install all` builds those that are measured.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/testservers/objects"
)

func main() {
	if err := all(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func all() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	sources, err := objects.ObjectServerSources()
	if err != nil {
		return err
	}
	for _, s := range sources {
		path, err := install.Ensure(ctx, s, nil)
		if err != nil {
			return err
		}
		fmt.Println(s.Store, s.Version, path)
	}
	return nil
}
