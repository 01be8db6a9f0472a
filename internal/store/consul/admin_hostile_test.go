package consul

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func TestTheTokenIsNotRedirected(t *testing.T) {
	storetest.CheckNoSecretsRedirected(t, New(), "X-Consul-Token", store.Access{Password: "secret"})
}

func TestStatusAnswersAreBounded(t *testing.T) {
	storetest.CheckStatusBounded(t, New(), `{"Config":{"NodeID":"0123456789abcdef","NodeName":"`, `"}}`)
}
