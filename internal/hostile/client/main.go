// Command client is what the hostile servers are let loose on: a store's load
// or its administration, in a process of its own, so that what it needs can be
// measured and a hang can be ended. It prints a hostile.Report as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/quorumbench/quorumbench/internal/hostile"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

func main() {
	var t hostile.Task
	flag.StringVar(&t.Store, "store", "", "the store's name")
	flag.StringVar(&t.Part, "part", "", "load or admin")
	flag.StringVar(&t.Ops, "ops", "", "the load's operations")
	flag.StringVar(&t.Honest, "honest", "", "HOST:PORT of a server that does no harm")
	flag.StringVar(&t.Hostile, "hostile", "", "HOST:PORT of one that does")
	flag.StringVar(&t.Prefix, "prefix", "", "of the keys")
	flag.DurationVar(&t.Window, "window", 0, "of the load")
	flag.Parse()
	st, err := registry.Lookup(t.Store)
	if err == nil {
		var r hostile.Report
		if r, err = t.Run(context.Background(), st); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
