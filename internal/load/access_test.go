package load

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// A password is read from the environment only if the user requests it.
func TestPasswordFromTheEnvironment(t *testing.T) {
	t.Setenv("CONSUL_HTTP_TOKEN", "secret")
	for user, want := range map[string]string{"a:env:CONSUL_HTTP_TOKEN": "secret", "a:b": "b", "a:CONSUL_HTTP_TOKEN": "CONSUL_HTTP_TOKEN"} {
		access, err := ReadAccess(&scenario.RunningCluster{Endpoints: []string{"a:1"}, User: user})
		if err != nil || access.User != "a" || access.Password != want {
			t.Errorf("%s: %q, %q, %v", user, access.User, access.Password, err)
		}
	}
	if access, err := ReadAccess(&scenario.RunningCluster{Endpoints: []string{"a:1"}}); err != nil || access.Password+access.User != "" {
		t.Errorf("without a user: %+v, %v", access, err)
	}
	_, err := ReadAccess(&scenario.RunningCluster{Endpoints: []string{"a:1"}, User: "a:env:QUORUMBENCH_NOT_SET"})
	if err == nil || !strings.Contains(err.Error(), `"QUORUMBENCH_NOT_SET" is not set`) {
		t.Errorf("a variable that is not set: %v", err)
	}
}
