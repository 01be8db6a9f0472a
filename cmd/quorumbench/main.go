// Command quorumbench is a benchmark tester for distributed, consistent
// key-value stores.
package main

import (
	"os"

	"github.com/quorumbench/quorumbench/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
