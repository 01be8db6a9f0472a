package report

import (
	"bytes"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// limited writes what limited the trials that were slow, and nothing where that
// is not known.
func limited(b *bytes.Buffer, trials []record.Trial) {
	head := "\nWhat limited it\n"
	for i := range trials {
		l := analyze.WhatLimited(&trials[i])
		worst, more := l.Worst()
		indent := "  "
		if len(trials) > 1 {
			indent += analyze.Label(l.Trial) + ": "
		}
		for j, c := range worst {
			fmt.Fprintf(b, "%s%s%s: %s", head, indent, c.What, c.Text)
			if more[j] > 0 {
				fmt.Fprintf(b, "; and %s of that kind", readable.Plural(uint64(more[j]), "finding"))
			}
			b.WriteString("\n")
			head, indent = "", "    "
		}
	}
}
