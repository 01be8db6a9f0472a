package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// An assignment from another machine is validated like a scenario file. The validation covers every
// field that could cause a failure of the worker.
func TestAssignmentsAreValidated(t *testing.T) {
	valid := func() *load.Assignment {
		l := base(kv.Put, kv.NoConsistency)
		l.Total = 100
		a := taskFor("127.0.0.1:1", l).Assignment
		a.Access.Endpoints = a.Endpoints
		return &a
	}
	if err := valid().Valid(registry.Lookup); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(a *load.Assignment){
		"there is no store": func(a *load.Assignment) { a.Store = "nonsense" },
		"connections":       func(a *load.Assignment) { a.Load.Connections = -1 },
		"clients is":        func(a *load.Assignment) { a.Load.Clients = 1 << 40 },
		"threads":           func(a *load.Assignment) { a.Load.Threads = 1 << 30 },
		"value-size":        func(a *load.Assignment) { a.Load.ValueSize = 1 << 40 },
		"no operation":      func(a *load.Assignment) { a.Load.Mix = nil },
		"does not exist":    func(a *load.Assignment) { a.Load.Mix[0].Kind = 200 },
		"has no": func(a *load.Assignment) {
			a.Load.Mix = []scenario.Operation{{Kind: kv.Get, Consistency: kv.LeaderLease, Weight: 1}}
		},
		"is not known yet": func(a *load.Assignment) {
			a.Load.Arrival, a.Load.Rate = scenario.Constant, scenario.Rate{Percent: 50, SourceTrial: "x"}
		},
		"timeout":                         func(a *load.Assignment) { a.Load.Timeout = -time.Second },
		"no endpoint is given":            func(a *load.Assignment) { a.Endpoints = nil },
		"has a scheme":                    func(a *load.Assignment) { a.Endpoints = []string{"http://a:1"} },
		"does not have a port":            func(a *load.Assignment) { a.Access.Endpoints = []string{"a:99999"} },
		"at most 1000 endpoints":          func(a *load.Assignment) { a.Endpoints = make([]string, 2000) },
		"part 3 does not exist in a":      func(a *load.Assignment) { a.Shard = load.Shard{I: 3, N: 2} },
		"part -1 does not exist in a":     func(a *load.Assignment) { a.Shard = load.Shard{I: -1, N: 2} },
		"a load of 1 part cannot have 3":  func(a *load.Assignment) { a.OtherWorkers = 3 },
		"cannot be divided among 100":     func(a *load.Assignment) { a.Shard = load.Shard{I: 3, N: 100} },
		"at most 1000000 leases":          func(a *load.Assignment) { a.Leases = make([]int64, scenario.MaxClients+1) },
		"beyond the 1000 keys":            func(a *load.Assignment) { a.Only = []uint64{63: 1 << 63} },
		"of memory":                       func(a *load.Assignment) { a.Load.Mix[0].Kind, a.Load.KeySpace, a.Load.KeySize = kv.CAS, 1<<30, 16 },
		"must be NAME:PASSWORD":           func(a *load.Assignment) { a.Access.User = "root" },
		"user must be NAME:PASSWORD":      func(a *load.Assignment) { a.Access.User = ":secret" },
		"a client certificate needs both": func(a *load.Assignment) { a.Access.Cert = "x" },
		"but must be from 0 to 1h":        func(a *load.Assignment) { a.Access.DialTimeout = -1 },
	} {
		a := valid()
		change(a)
		err := a.Valid(registry.Lookup)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
			t.Errorf("want an error of one sentence with %q: %v", want, err)
		}
	}
}
