package discovery

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
)

// Call is a kind of call: a row in the report.
type Call uint8

// The kinds of calls.
const (
	Register   Call = iota // an instance comes
	Deregister             // an instance goes
	Lookup                 // membership: a client reads an instance that it was told of
	Fail                   // catalog: an instance's check becomes critical
	Pass                   // catalog: it passes again
	Compare                // catalog: an agent reads what the catalog has of its node
	numCalls
)

var (
	sessionShapes = [numCalls]app.Shape{
		Register:   {Name: "register", Kind: kv.Ephemeral},
		Deregister: {Name: "deregister", Kind: kv.Delete},
		Lookup:     {Name: "read instance", Kind: kv.Get, Level: kv.Local},
	}
	catalogShapes = [numCalls]app.Shape{
		Register:   {Name: "register", Kind: kv.Put},
		Deregister: {Name: "deregister", Kind: kv.Delete},
		Fail:       {Name: "check critical", Kind: kv.Put},
		Pass:       {Name: "check passing", Kind: kv.Put},
		Compare:    {Name: "compare node", Kind: kv.Range, Level: kv.Local},
	}
)

// shapesOf returns what the kinds of calls are, by their numbers; those that an application
// does not make have no name.
func shapesOf(catalog bool) []app.Shape {
	if catalog {
		return catalogShapes[:]
	}
	return sessionShapes[:]
}
