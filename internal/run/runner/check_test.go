package runner

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// served is a store with its null server.
type served struct {
	store.Store
	endpoint string
}

// serve starts a null server that follows a script.
func serve(t *testing.T, st store.Store, script string) served {
	t.Helper()
	null, ok := st.(store.NullServerProvider)
	if !ok {
		t.Skipf("%s has no null server", st.Name())
	}
	endpoint := storetest.ServeNull(t, null, 1, store.NullOptions{Script: script, Memory: true})[0]
	return served{st, endpoint}
}

// perf returns the scenario of a check with the given rate of writes, number of clients and
// duration. The parameters in more override the defaults of the check.
func perf(s served, rate float64, clients int, duration string, more ...string) (*scenario.Scenario, error) {
	c := scenario.NewCommand("check-perf")
	all := append([]string{
		"rate", strconv.FormatFloat(rate, 'g', -1, 64), "clients", strconv.Itoa(clients), "max-in-flight", strconv.Itoa(clients),
		"connections", strconv.Itoa(clients), "duration", duration,
	}, more...)
	for i := 0; i < len(all); i += 2 {
		c.SetDerived(all[i], all[i+1])
	}
	return c.Scenario(registry.Catalog{}, scenario.CommandOptions{Store: s.Name(), RunningCluster: &scenario.RunningCluster{Endpoints: []string{s.endpoint}}, Seed: 1, Repeats: 1})
}

// checked runs the check and returns its trial.
func checked(ctx context.Context, t *testing.T, of served, s *scenario.Scenario, show func(Progress)) (*record.Trial, error) {
	t.Helper()
	dir, err := Run(ctx, Options{
		Scenario: s, Root: t.TempDir(), Progress: show,
		Lookup: func(string) (store.Store, error) { return of.Store, nil },
	})
	if dir == "" {
		return nil, err
	}
	run, opening := record.Open(dir)
	if opening != nil {
		t.Fatal(opening)
	}
	figures.ReadTrialFiles(run, dir)
	if len(run.Trials) == 0 {
		return nil, err
	}
	return &run.Trials[0], err
}

// check runs a check and fails the test if the check has no result.
func check(t *testing.T, of served, rate float64, clients int, duration string, more ...string) *record.Trial {
	t.Helper()
	s, err := perf(of, rate, clients, duration, more...)
	if err != nil {
		t.Fatal(err)
	}
	result, err := checked(t.Context(), t, of, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// empty reports whether the store contains none of a check's keys. It runs another check, which
// would find them.
func empty(t *testing.T, of served) bool {
	t.Helper()
	s, err := perf(of, 10, 10, "100ms")
	if err != nil {
		t.Fatal(err)
	}
	var notEmpty *guard.NotEmptyError
	_, err = checked(t.Context(), t, of, s, nil)
	if err != nil && !errors.As(err, &notEmpty) {
		t.Fatal(err)
	}
	return err == nil
}

// Exactly rate × seconds writes are due, no matter how long the responses take. By comparison,
// etcd's own check reaches only 1,784 of 8,000 writes per second if the latency is 2 ms.
func TestOneScheduleForAllClients(t *testing.T) {
	for _, name := range settle.Sample(t, 1, []string{"l", "xl"}) {
		l := scenario.PerfLoads[name]
		c := serve(t, etcd.New(), "delay=2ms")
		result := check(t, c, l.Rate, l.Clients, "1s")
		if want := uint64(l.Rate); result.Due != want || result.Connections != l.Clients {
			t.Errorf("load %s: %d writes on %d connections were due in 1 s, want %d on %d", name, result.Due, result.Connections, want, l.Clients)
		}
		if result.Cleanup.Err() != nil || !empty(t, c) {
			t.Errorf("load %s: keys are left after the clean-up %+v", name, result.Cleanup)
		}
	}
}

func TestChecksAndCleansEveryStore(t *testing.T) {
	for _, st := range settle.Sample(t, 3, registry.All()) {
		t.Run(st.Name(), func(t *testing.T) {
			c := serve(t, st, "delay=1ms")
			// With as many clients as writes, no write waits for a connection, not even at the end.
			result := check(t, c, 200, 200, "1s")
			if result.Due != 200 || result.Errors > 0 || result.Cleanup.Err() != nil || !empty(t, c) {
				t.Errorf("%d writes were due, the errors are %v, and the clean-up is %+v", result.Due, result.ErrorsByKind, result.Cleanup)
			}
		})
	}
}

// The response time of the slowest write fully includes a stall of 0.9 s, because the response time
// begins when the write was due. Package analyze tests the analysis of checks.
func TestSlowestWriteIncludesTheStall(t *testing.T) {
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		c := serve(t, etcd.New(), "delay=1ms; stall=900ms@500ms")
		result := check(t, c, 500, 50, "2s")
		if result.SlowestNS == nil || *result.SlowestNS < 0.8e9 || len(result.Stores) == 0 || !empty(t, c) {
			r.Errorf("the slowest write took %v, and %d rows of the member were recorded", measure.OrZero(result.SlowestNS), len(result.Stores))
		}
	})
}

func TestCountsErrorsOfACheck(t *testing.T) {
	c := serve(t, etcd.New(), "error=unavailable every 50")
	result := check(t, c, 1000, 50, "1s")
	if n := result.Errors - result.ErrorsByKind[kv.NotSent.String()]; n != 20 || result.Cleanup.Err() != nil {
		t.Errorf("%v, %+v", result.ErrorsByKind, result.Cleanup)
	}
}

// Existing keys are not removed. The error does not explain how to remove them, because they may
// belong to another user.
func TestPrefixMustBeEmpty(t *testing.T) {
	for _, st := range settle.Sample(t, 3, registry.All()) {
		t.Run(st.Name(), func(t *testing.T) {
			c := serve(t, st, "")
			if mine := check(t, c, 10, 10, "200ms", "prefix", "/check/mine-", "cleanup", "false"); mine.Operations == 0 || mine.Cleanup != nil {
				t.Fatalf("%+v", mine)
			}
			for range 2 {
				s, err := perf(c, 100, 10, "1s", "prefix", "/check/")
				if err != nil {
					t.Fatal(err)
				}
				var notEmpty *guard.NotEmptyError
				if _, err := checked(t.Context(), t, c, s, nil); !errors.As(err, &notEmpty) {
					t.Fatalf("the error is %v, want a NotEmptyError", err)
				}
				text := notEmpty.Error()
				if !strings.HasPrefix(text, `prefix "/check/" is not empty`) || !strings.Contains(text, "choose another prefix") || strings.Contains(strings.ToLower(text), "delete with") {
					t.Errorf("the text of the error is %q", text)
				}
			}
		})
	}
}

func TestInterruptedCheckCleansUp(t *testing.T) {
	c := serve(t, etcd.New(), "")
	s, err := perf(c, 500, 50, "1h")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result, err := checked(ctx, t, c, s, func(p Progress) {
		if p.Stage == Measuring && p.Succeeded > 50 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || result.State != record.Interrupted || result.Cleanup.Err() != nil || result.Cleanup.Deleted == 0 || !empty(t, c) {
		t.Errorf("%v, %+v", err, result)
	}
}

// plain is an etcd store that cannot delete by prefix.
type plain struct{ *etcd.Store }

func (p plain) Capabilities() kv.Capabilities {
	can := p.Store.Capabilities()
	can.Features = maps.Clone(can.Features)
	delete(can.Features, kv.PrefixDelete)
	return can
}

func (p plain) Admin(a store.Access) (store.Admin, error) {
	admin, err := p.Store.Admin(a)
	return struct{ store.Admin }{admin}, err
}

func TestStoreWithoutPrefixesIsSwept(t *testing.T) {
	c := serve(t, etcd.New(), "")
	swept := served{plain{etcd.New()}, c.endpoint}
	result := check(t, swept, 500, 20, "1s")
	// A write that was not sent because the machine was busy was not executed.
	if result.Due != 500 || result.Cleanup.Err() != nil || result.Cleanup.Deleted < int64(result.Operations) || !empty(t, c) {
		t.Errorf("%d writes were due, %d were done, and the clean-up is %+v", result.Due, result.Operations, result.Cleanup)
	}
}

// A clean-up that the store does not support is rejected when the scenario is validated.
func TestRefusesUnsupportedCleanups(t *testing.T) {
	refused := 0
	for _, st := range registry.All() {
		c := served{st, "127.0.0.1:1"}
		for key, feature := range map[string]kv.Feature{"cleanup-compact": kv.Compaction, "cleanup-defragment": kv.Defragmentation} {
			_, err := perf(c, 100, 10, "1s", key, "true")
			if can := st.Capabilities().Has(feature) && st.Capabilities().CheckOperation(st.Name(), kv.Delete, kv.NoConsistency) == nil; can != (err == nil) {
				t.Errorf("%s with %s: %v", st.Name(), key, err)
			}
			if err != nil {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("no unsupported clean-up was rejected")
	}
}
