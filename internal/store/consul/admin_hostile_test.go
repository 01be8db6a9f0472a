package consul

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv/httpkvtest"
)

func TestTheTokenIsNotRedirected(t *testing.T) {
	httpkvtest.SecretsStay(t, New(), "X-Consul-Token", store.Access{Password: "secret"})
}

func TestStatusAnswersAreBounded(t *testing.T) {
	httpkvtest.StatusIsBounded(t, New(), `{"Config":{"NodeID":"0123456789abcdef","NodeName":"`, `"}}`)
}
