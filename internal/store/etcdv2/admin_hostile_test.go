package etcdv2

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func TestThePasswordIsNotRedirected(t *testing.T) {
	storetest.CheckNoSecretsRedirected(t, New(), "Authorization", store.Access{User: "u", Password: "secret"})
}

func TestStatusAnswersAreBounded(t *testing.T) {
	storetest.CheckStatusBounded(t, New(), `{"etcdserver":"`, `"}`)
}
