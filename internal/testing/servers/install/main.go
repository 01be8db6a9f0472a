// Install builds the servers that tests start but quorumbench does not measure. (`quorumbench
// stores install` builds the servers that quorumbench measures.)
//
//	go run ./internal/testing/servers/install kine versitygw kubernetes
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes"
)

var sources = map[string]func() (store.ServerSource, error){
	"kine":       servers.KineSource,
	"versitygw":  servers.VersityGWSource,
	"kubernetes": kubernetes.Source,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, name := range os.Args[1:] {
		if err := build(ctx, name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func build(ctx context.Context, name string) error {
	source, ok := sources[name]
	if !ok {
		return fmt.Errorf("there is no server %q for tests; choose kine, versitygw or kubernetes", name)
	}
	s, err := source()
	if err != nil {
		return err
	}
	path, err := install.Ensure(ctx, s, nil)
	if err != nil {
		return err
	}
	fmt.Println(s.Store, s.Version, path)
	return nil
}
