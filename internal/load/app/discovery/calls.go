package discovery

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
)

// Call is a kind of call. Each kind is a row in the report.
type Call uint8

// The kinds of calls.
const (
	Register   Call = iota // adds an instance
	Deregister             // removes an instance
	Lookup                 // membership: a client reads an instance that its watch reported
	Fail                   // catalog: an instance's health check becomes critical
	Pass                   // catalog: the health check passes again
	Compare                // catalog: an agent reads its node's entries in the catalog
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

// callShapes returns the shapes of the calls, indexed by Call. If the application never makes a
// call, the shape of that call has no name.
func callShapes(catalog bool) []app.Shape {
	if catalog {
		return catalogShapes[:]
	}
	return sessionShapes[:]
}
