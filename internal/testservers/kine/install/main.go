// Install builds the kine that tests start, as `quorumbench stores install`
// builds servers that are measured.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/testservers/kine"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	source, err := kine.KineSource()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	path, err := install.Ensure(ctx, source, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(source.Store, source.Version, path)
}
