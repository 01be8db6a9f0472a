package consul

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testservers"
)

// startLive starts a real cluster. With a change, that is made to every member's
// configuration; the token is for the official client.
func startLive(t testing.TB, members int, token string, change func(tree)) *testservers.Live {
	t.Helper()
	c := testservers.Cluster{
		Exec: testservers.Installed(t, New()), Members: members,
		Ready: func(ctx context.Context, endpoint string) error {
			_, err := official(t, endpoint, token).KV().Put(&api.KVPair{Key: "ready"}, (&api.WriteOptions{}).WithContext(ctx))
			return err
		},
	}
	if change != nil {
		c.Settings = &Settings{LogLevel: "warn"}
		c.Change = func(p *store.Process) {
			for path, contents := range p.Files {
				p.Files[path] = changed(t, contents, change)
			}
		}
	}
	return testservers.Start(t, New(), c)
}

func changed(t testing.TB, config []byte, change func(tree)) []byte {
	t.Helper()
	var c tree
	if err := json.Unmarshal(config, &c); err != nil {
		t.Fatal(err)
	}
	change(c)
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// official is an official client of one member.
func official(t testing.TB, endpoint, token string) *api.Client {
	t.Helper()
	c, err := api.NewClient(&api.Config{Address: endpoint, Scheme: "http", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
