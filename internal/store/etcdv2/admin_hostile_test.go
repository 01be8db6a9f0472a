package etcdv2

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv/httpkvtest"
)

func TestThePasswordIsNotRedirected(t *testing.T) {
	httpkvtest.SecretsStay(t, New(), "Authorization", store.Access{User: "u", Password: "secret"})
}

func TestStatusAnswersAreBounded(t *testing.T) {
	httpkvtest.StatusIsBounded(t, New(), `{"etcdserver":"`, `"}`)
}
