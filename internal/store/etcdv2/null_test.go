package etcdv2

import (
	"maps"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// TestNullAgreesWithNetHTTP sends requests with net/http and checks that the null server
// responds like etcd.
func TestNullAgreesWithNetHTTP(t *testing.T) {
	storetest.CheckNullServer(t, fixture(), 60, 9, nil)
}

func TestNull(t *testing.T) {
	storetest.CheckHTTPNullServer(t, New(), slices.Collect(maps.Keys(nullErrors())))
}

func BenchmarkNullRead(b *testing.B) { storetest.BenchmarkRead(b, New()) }
