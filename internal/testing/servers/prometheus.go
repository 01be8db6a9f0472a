package servers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// Prometheus is a running Prometheus server that supports native histograms and receives remote
// writes.
type Prometheus struct {
	URL    string // without a slash at the end
	Target string // HOST:PORT that Prometheus scrapes four times per second; the test starts the server
	client http.Client
}

// StartPrometheus starts a Prometheus server that listens on the loopback interface and runs until
// the end of the test. If Prometheus is not installed, StartPrometheus skips the test.
func StartPrometheus(t testing.TB) *Prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("Prometheus is not installed; run make prometheus, or install the Debian package prometheus")
	}
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	listen := fmt.Sprintf("127.0.0.1:%d", lease.Ports[0])
	p := &Prometheus{URL: "http://" + listen, Target: fmt.Sprintf("127.0.0.1:%d", lease.Ports[1]), client: http.Client{Timeout: 30 * time.Second}}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := "scrape_configs: [{job_name: quorumbench, scrape_interval: 250ms, scrape_timeout: 250ms, static_configs: [{targets: ['" + p.Target + "']}]}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+listen,
		"--enable-feature=native-histograms", "--web.enable-remote-write-receiver", "--log.level=warn")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the error is expected, because a signal ends Prometheus
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		_ = log.Close()
		if words, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("the log of Prometheus:\n%s", words)
		}
	})
	settle.Eventually(t, "Prometheus is ready", func() bool {
		select {
		case <-ended:
			return true // Prometheus has failed, so the first query fails the test
		default:
		}
		reply, err := p.client.Get(p.URL + "/-/ready")
		if err != nil {
			return false
		}
		_ = reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	})
	return p
}

// PrometheusSeries is a series in the result of a query. Values contains the samples in
// chronological order.
type PrometheusSeries struct {
	Labels map[string]string
	Values []float64
}

// Last returns the last sample.
func (s *PrometheusSeries) Last() float64 { return s.Values[len(s.Values)-1] }

// Query evaluates a PromQL expression over a period, four times per second. It fails the test if
// the result contains histograms.
func (p *Prometheus) Query(t testing.TB, expression string, start, end time.Time) []PrometheusSeries {
	t.Helper()
	unix := func(when time.Time) string { return strconv.FormatFloat(float64(when.UnixMilli())/1e3, 'f', 3, 64) }
	reply, err := p.client.PostForm(p.URL+"/api/v1/query_range", url.Values{"query": {expression}, "start": {unix(start)}, "end": {unix(end)}, "step": {"0.25"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Values [][2]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(body, &read); err != nil || read.Status != "success" {
		t.Fatalf("Prometheus replied to %s: %v %.500s", expression, err, body)
	}
	var all []PrometheusSeries
	for _, r := range read.Data.Result {
		s := PrometheusSeries{Labels: r.Metric}
		for _, v := range r.Values {
			x, err := strconv.ParseFloat(strings.Trim(string(v[1]), `"`), 64)
			if err != nil {
				t.Fatal(err)
			}
			s.Values = append(s.Values, x)
		}
		if len(s.Values) == 0 {
			t.Fatalf("the result of %s contains histograms", expression)
		}
		all = append(all, s)
	}
	return all
}
