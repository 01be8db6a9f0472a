package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/compare"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/peer"
)

// openRate is the open loop's, in operations a second.
const openRate = 20_000

// valueSize is that of all values, in bytes.
const valueSize = 256

// The key spaces, of keys of 8 bytes: one key to read, and many to write.
func readSpace() peer.Space { return peer.Space{Prefix: "r", Digits: 7, Keys: 1} }
func putSpace() peer.Space  { return peer.Space{Prefix: "w", Digits: 7, Keys: 10_000} }

// cases are what is measured, in this order.
func cases() []peer.Case {
	get := func(name, title string, level kv.Consistency, connections, clients int) peer.Case {
		return peer.Case{Name: name, Title: title, Kind: kv.Get, Consistency: level, Connections: connections, Clients: clients}
	}
	many := get(compare.CaseMany, "local range, 1,000 x 10", kv.Local, 1000, 10_000)
	many.Once = true
	open := get(compare.CaseOpen, "open loop, 20,000/s, null server", kv.Local, 100, 1000)
	open.Rate, open.Null = openRate, true
	return []peer.Case{
		get(compare.CaseLocal, "local range, 100 x 10", kv.Local, 100, 1000),
		get(compare.CaseLinearizable, "linearizable range, 100 x 10", kv.Linearizable, 100, 1000),
		{Name: compare.CasePut, Title: "put, 100 x 10", Kind: kv.Put, Connections: 100, Clients: 1000},
		get(compare.CaseOne, "local range, 1 x 1", kv.Local, 1, 1),
		many,
		open,
	}
}

// soakCases are those of --soak, with their windows.
func soakCases() ([]peer.Case, map[string]time.Duration) {
	base := cases()[0]
	short, long := base, base
	short.Name, short.Title, short.Once = compare.CaseSoakShort, "local range, 100 x 10, one minute", true
	long.Name, long.Title, long.Once = compare.CaseSoakLong, "local range, 100 x 10, ten minutes", true
	return []peer.Case{short, long}, map[string]time.Duration{short.Name: time.Minute, long.Name: 10 * time.Minute}
}

func caseNames() []string {
	var names []string
	for _, c := range cases() {
		names = append(names, c.Name)
	}
	return names
}

func checkNames(only []string) error {
	for _, name := range only {
		if !slices.Contains(caseNames(), name) {
			return fmt.Errorf("--only: there is no case %q; choose from %s", name, strings.Join(caseNames(), ", "))
		}
	}
	return nil
}

// chosen are the cases to be measured, and windows that differ from --seconds.
func (o options) chosen() ([]peer.Case, map[string]time.Duration) {
	if o.soak {
		return soakCases()
	}
	all := cases()
	if len(o.only) > 0 {
		all = slices.DeleteFunc(all, func(c peer.Case) bool { return !slices.Contains(o.only, c.Name) })
	}
	return all, nil
}
