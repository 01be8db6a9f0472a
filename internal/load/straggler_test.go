package load_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// reporting is a worker that reports one-second records until it has reported `most` of them or is
// stopped.
type reporting struct {
	load.Worker
	most int
}

type reportingJob struct {
	load.Job
	worker reporting
	to     load.Reports
}

func (w reporting) Prepare(_ context.Context, _ *load.Assignment, to load.Reports) (load.Job, error) {
	return reportingJob{worker: w, to: to}, nil
}

func (j reportingJob) Connect(context.Context) error { return nil }
func (j reportingJob) Close()                        {}

func (j reportingJob) Run(ctx context.Context, begin time.Time) (*load.Result, error) {
	j.to.OnPhaseChange(load.PhaseChange{Phase: measure.Measured, At: begin})
	reported := 0
	s := wide()
	for ; reported < j.worker.most && ctx.Err() == nil; reported++ {
		s.Index = reported
		j.to.Second(s)
	}
	<-ctx.Done()
	e := load.Ending{Loops: 1, Opened: begin, Length: int64(reported) * int64(time.Second), Interrupted: true}
	return &load.Result{Ending: e}, nil
}

// wide returns a one-second record whose histograms contain many different times.
func wide() *measure.Second {
	r := rand.New(rand.NewPCG(1, 2))
	s := &measure.Second{Phase: measure.Measured}
	for member := range uint64(2) {
		h := measure.NewHistogram()
		for range 1000 {
			measure.Record(h, int64(1e9*r.ExpFloat64()))
		}
		s.Cells = append(s.Cells, &measure.Cell{Series: measure.Series{Kind: kv.Put, Member: member + 1, Term: 2}, Response: h, Service: h})
		s.Due += 1000
	}
	s.Outcomes[kv.OK], s.Done = s.Due, s.Due
	return s
}

// If a worker stops reporting but does not fail, it must not delay the per-second results of the
// other workers indefinitely. Such a worker is cut off, and the result contains its name. The load
// ends after the last second that all workers have reported.
func TestSilentWorkerIsCutOff(t *testing.T) {
	t.Parallel()
	w := load.Workers{
		load.NamedWorker{Worker: reporting{local(), 1 << 30}, Name: "w1"}, load.NamedWorker{Worker: reporting{local(), 3}, Name: "w2"}, load.NamedWorker{Worker: reporting{local(), 1 << 30}, Name: "w3"},
	}
	l := base(kv.Put, kv.NoConsistency)
	l.Duration = time.Hour
	a := taskFor("127.0.0.1:1", l).Assignment
	seconds := 0
	job, err := w.Prepare(t.Context(), &a, load.Reports{Second: func(s *measure.Second) {
		if s.Index != seconds {
			t.Errorf("second %d comes after %d", s.Index, seconds-1)
		}
		seconds++
	}})
	if err != nil {
		t.Fatal(err)
	}
	load.Bounded(job, 100_000)
	res, err := job.Run(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m, late := res.Measured, res.Measured.Parts[1]
	if !res.Interrupted || !strings.Contains(late.Lost, "it reported 3 seconds of the window while another worker reported ") || m.Parts[0].Lost+m.Parts[2].Lost != "" {
		t.Errorf("interrupted %v; the reasons why the workers were lost are %q, %q, %q", res.Interrupted, m.Parts[0].Lost, late.Lost, m.Parts[2].Lost)
	}
	if due := m.Parts[0].Due + late.Due + m.Parts[2].Due; due != m.Due || late.Due != 3*wide().Due || seconds < 10 {
		t.Errorf("the workers report %d due operations in total, and the result has %d, in %d seconds", m.Due, due, seconds)
	}
}
