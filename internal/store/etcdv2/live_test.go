package etcdv2

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testservers"
)

// startLive starts a real cluster.
func startLive(t testing.TB, members int) *testservers.Live {
	t.Helper()
	return testservers.Start(t, New(), testservers.Cluster{
		Exec: testservers.Installed(t, New()), Members: members,
		Ready: func(ctx context.Context, endpoint string) error {
			r, err := ask(ctx, endpoint, "PUT", "/ready", "value=1")
			if err == nil && r.ErrorCode != 0 {
				err = errors.New(r.Message)
			}
			return err
		},
	})
}

// apiAnswer is what the API says, as encoding/json reads it.
type apiAnswer struct {
	ErrorCode int
	Message   string
	Node      *testNode
}

type testNode struct {
	Key, Value    string
	ModifiedIndex int64
	Nodes         []testNode
}

// ask asks the v2 API through net/http; the path begins behind /v2/keys.
func ask(ctx context.Context, endpoint, method, path, form string) (*apiAnswer, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+endpoint+"/v2/keys"+path, strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	a := &apiAnswer{}
	return a, json.NewDecoder(r.Body).Decode(a)
}
