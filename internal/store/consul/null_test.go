package consul

import (
	"maps"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// TestNullAgreesWithOfficialClient uses the official client to check that the null server behaves
// like Consul.
func TestNullAgreesWithOfficialClient(t *testing.T) {
	storetest.CheckNullServer(t, fixture(), 40, 9, nil)
}

func TestNull(t *testing.T) {
	storetest.CheckHTTPNullServer(t, New(), slices.Collect(maps.Keys(nullErrors())))
}

func BenchmarkNullRead(b *testing.B) { storetest.BenchmarkRead(b, New()) }
