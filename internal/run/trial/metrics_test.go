package trial

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/signals"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// Each member has a row before the load and a row after it, even if the member reports no metrics.
// If the metrics do not contain the size of the member's database but the administration interface
// reports it, this size is added to both rows.
func TestMembersMetricsAreRecorded(t *testing.T) {
	var asked atomic.Int64
	serves := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %d\n", asked.Add(1))
	}))
	defer serves.Close()
	mute := httptest.NewServer(http.NotFoundHandler())
	defer mute.Close()
	at := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

	w, err := record.CreateAt(filepath.Join(t.TempDir(), "run"), time.Now(), record.Run{Name: "metrics"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.Trial(record.Conditions{Name: "put", Number: 1, Repeats: 1}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m := &members{}
	for i, s := range []*httptest.Server{serves, mute} {
		m.update(i, 2, time.Now(), time.Now(), store.Member{ID: uint64(i + 1), Name: fmt.Sprintf("m%d", i+1), Endpoint: at(s), DBSize: 4096})
	}
	s := newMetricsRecorder(&Trial{Cluster: Cluster{Store: etcd.New()}}, m, out)
	s.scrapeAll(time.Minute)
	s.begin()
	s.stop()
	s.scrapeAll(time.Minute)
	s.close()

	run, err := record.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	figures.ReadTrialFiles(run, w.Dir())
	rows := map[string][]record.StoreRow{}
	for _, r := range run.Trials[0].Stores {
		rows[r.Name] = append(rows[r.Name], r)
	}
	if n := len(rows["m1"]); n < 2 {
		t.Fatalf("there are %d rows of m1", n)
	}
	first, last := rows["m1"][0], rows["m1"][len(rows["m1"])-1]
	if used := last.Metrics.Since(first.Metrics); used[store.CPUSeconds].Value < 1 || used[store.DatabaseBytes].Value != 4096 || first.ConnectTime <= 0 {
		t.Errorf("the first row is %+v, the last one %+v", first, last)
	}
	for _, r := range rows["m2"] {
		if len(r.Metrics) != 1 || r.Metrics[store.DatabaseBytes].Value != 4096 || !strings.Contains(r.Failure, "HTTP status 404") || r.ConnectTime <= 0 {
			t.Errorf("the row of a member without metrics is %+v", r)
		}
	}
	if len(rows["m2"]) < 2 {
		t.Errorf("there are %d rows of m2", len(rows["m2"]))
	}
}

// If a member responds slowly once, or fails to respond once, it is asked again within one second.
// If a member always responds slowly, quorumbench spends only a small part of the time waiting for
// it.
func TestScrapingIntervals(t *testing.T) {
	asked := &signals.Scraper{}
	for name, c := range map[string]struct {
		member     memberScraper
		took, want time.Duration
	}{
		"quick":             {memberScraper{scraper: asked, fastestResponse: 4 * time.Millisecond}, 4 * time.Millisecond, 996 * time.Millisecond},
		"slow this time":    {memberScraper{scraper: asked, fastestResponse: 4 * time.Millisecond}, 600 * time.Millisecond, 400 * time.Millisecond},
		"no answer":         {memberScraper{scraper: asked, fastestResponse: 4 * time.Millisecond}, 2 * time.Second, 76 * time.Millisecond},
		"long answers":      {memberScraper{scraper: asked, fastestResponse: 100 * time.Millisecond}, 120 * time.Millisecond, 1900 * time.Millisecond},
		"never an answer":   {memberScraper{scraper: asked}, 2 * time.Second, 10 * time.Second},
		"connections alone": {memberScraper{}, 1 * time.Millisecond, 999 * time.Millisecond},
	} {
		if got := c.member.pause(c.took); got != c.want {
			t.Errorf("%s: the next row is scheduled after %v, want %v", name, got, c.want)
		}
	}
}
