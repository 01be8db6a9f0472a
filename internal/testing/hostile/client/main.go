// Command client runs against the hostile servers: a store's load or its administration, in
// a separate process, so that its memory can be measured and a hang can be ended. Its
// argument is a hostile.Task as JSON, and it prints a hostile.Report.
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
		panic(err) // a bug of the test that started it
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
