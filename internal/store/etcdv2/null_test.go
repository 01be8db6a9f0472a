package etcdv2

import (
	"maps"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// The null server does what etcd does, as net/http sees it.
func TestNullAgreesWithNetHTTP(t *testing.T) {
	storetest.NullAgrees(t, fixture(), 60, 9, nil)
}

func TestNullAdmin(t *testing.T) { storetest.HTTPNullAdmin(t, New()) }

func TestNullErrors(t *testing.T) {
	storetest.HTTPErrors(t, New(), slices.Collect(maps.Keys(nullErrors())))
}

func TestNullFaults(t *testing.T) { storetest.HTTPFaults(t, New()) }

func TestAdminOfNothing(t *testing.T) { storetest.AdminOfNothing(t, New()) }

func BenchmarkNullRead(b *testing.B) { storetest.BenchmarkRead(b, New()) }
