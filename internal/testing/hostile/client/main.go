// Command client runs one task against a hostile server: a store's load or its administrative
// calls. It is a separate process, so that the test can measure its memory and kill it if it hangs.
// Its argument is a hostile.Task as JSON, and it prints a hostile.Report.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/hostile"
)

func main() {
	var t hostile.Task
	if err := json.Unmarshal([]byte(os.Args[1]), &t); err != nil {
		panic(err) // a bug in the test that started this process
	}
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
