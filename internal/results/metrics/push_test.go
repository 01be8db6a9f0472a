package metrics

import (
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/quorumbench/quorumbench/internal/measure"
)

func TestDestinations(t *testing.T) {
	for given, want := range map[string]string{
		"http://127.0.0.1:9090/api/v1/write":      "http://127.0.0.1:9090/api/v1/write",
		"https://me:env:PW@prom/api/v1/write?t=a": "https://prom/api/v1/write?t=a",
		"127.0.0.1:9090":                          "is not a URL",
		"prometheus":                              "does not begin with http:// or https://, or contains no host",
		"ftp://h/":                                "does not begin with http:// or https://, or contains no host",
		"http:///api":                             "does not begin with http:// or https://, or contains no host",
		"http://h/#a":                             "fragment",
		"http://me:hidden@h/":                     "NAME:env:VARIABLE",
		"http://me@h/":                            "NAME:env:VARIABLE",
		"http://me:env:@h/":                       "NAME:env:VARIABLE",
		"ftp://me:hidden@h/":                      "does not begin with http:// or https://",
		"http://me:hidden@h:port/":                "the URL is invalid",
		"http://me:hidden@h/\x7f":                 "the URL is invalid",
		"me:hidden@h/write":                       "the URL does not begin with http:// or https://",
		"http:me:hidden@h/write":                  "the URL does not begin with http:// or https://",
		"http://hidden@h/#x":                      "the URL contains a fragment",
		"http:/h/write":                           `"http:/h/write" does not begin with http:// or https://`,
	} {
		d, err := ParseDestination(given)
		got := d.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || strings.Contains(got, "hidden") || err == nil && got != want {
			t.Errorf("%q: %s", given, got)
		}
	}
}

// testPusher returns a pusher to a server with the given handler. A push happens only when the
// test calls push or Close.
func testPusher(t *testing.T, user string, env map[string]string, handle http.HandlerFunc) *Pusher {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	d, err := ParseDestination(strings.Replace(s.URL, "http://", "http://"+user, 1) + "/write")
	if err != nil {
		t.Fatal(err)
	}
	c := newTestCollector()
	c.Second(spec("put", 1), second(measure.Measured, 1000, 2))
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	p, err := newPusher(d, r, "the-run", "host", func(name string) string { return env[name] }, func() time.Time { return time.UnixMilli(5000) })
	if err != nil {
		t.Fatal(err)
	}
	close(p.done)
	return p
}

// Close pushes the last values, with the headers of the protocol and with credentials. The times of
// the samples increase even if the clock does not.
func TestPushes(t *testing.T) {
	for name, c := range map[string]struct {
		user, want string
	}{
		"password": {"me:env:PW@", "Basic bWU6aGlkZGVu"},
		"token":    {"", "Bearer secret"},
	} {
		t.Run(name, func(t *testing.T) {
			var times []int64
			p := testPusher(t, c.user, map[string]string{"PW": "hidden", TokenVariable: "secret"}, func(_ http.ResponseWriter, r *http.Request) {
				h := r.Header
				if h.Get("Content-Encoding") != "snappy" || h.Get("Content-Type") != "application/x-protobuf" || h.Get("X-Prometheus-Remote-Write-Version") != "0.1.0" || h.Get("Authorization") != c.want || r.Method != http.MethodPost || r.URL.Path != "/write" {
					t.Errorf("%s %s has the headers %v", r.Method, r.URL, h)
				}
				due := decodeWrite(t, unpack(t, r))[`__name__="quorumbench_operations_due_total",instance="host",job="quorumbench",repeat="1",run="the-run",store="a-store",trial="put"`]
				if due.value != 1002 {
					t.Errorf("%v operations are due", due.value)
				}
				times = append(times, due.ms)
			})
			p.push(t.Context())
			if problem := p.Close(); problem != "" {
				t.Error(problem)
			}
			if len(times) != 2 || times[0] != 5000 || times[1] != 5001 {
				t.Errorf("the times are %v", times)
			}
		})
	}
}

// Failed pushes are counted and reported in one sentence, and redirects are not followed.
func TestFailedPushes(t *testing.T) {
	replies := []func(http.ResponseWriter){
		func(w http.ResponseWriter) { http.Error(w, "out of \x1b[31morder\nsample", http.StatusBadRequest) },
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		func(w http.ResponseWriter) { http.Error(w, "out of \x1b[31morder\nsample", http.StatusBadRequest) },
	}
	next := 0
	p := testPusher(t, "", nil, func(w http.ResponseWriter, _ *http.Request) {
		replies[next](w)
		next++
	})
	for range replies[1:] {
		p.push(t.Context())
	}
	problem := p.Close()
	want := `3 of 4 pushes to ` + p.destination.String() + ` failed, most recently because of "HTTP status 400: out of `
	if !strings.HasPrefix(problem, want) || !strings.HasSuffix(problem, ", so the series there have gaps; the run directory is complete") || strings.ContainsAny(problem, "\x1b\n") {
		t.Errorf("the problem is %q", problem)
	}
}

// unpack returns the uncompressed body of a push.
func unpack(t *testing.T, r *http.Request) []byte {
	t.Helper()
	packed, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	body, err := s2.Decode(nil, packed)
	if err != nil {
		t.Error(err)
	}
	return body
}

// A push ends the series that no longer exist, even if earlier pushes failed.
func TestPushEndsSeries(t *testing.T) {
	fail := false
	var latest map[string]received
	handle := func(w http.ResponseWriter, r *http.Request) {
		if latest = decodeWrite(t, unpack(t, r)); fail {
			w.WriteHeader(http.StatusBadGateway)
		}
	}
	p := testPusher(t, "", nil, handle)
	c := newTestCollector()
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	p.gatherer = r
	phase := func(name string) string {
		return `__name__="quorumbench_phase",instance="host",job="quorumbench",phase="` + name + `",run="the-run"`
	}
	push := func(enters string, fails bool) (ended int) {
		fail = fails
		c.EnterPhase(nil, enters)
		p.push(t.Context())
		if s, has := latest[phase(enters)]; !has || s.value != 1 {
			t.Errorf("the series of the phase %s is %+v", enters, s)
		}
		for _, s := range latest {
			if math.Float64bits(s.value) == math.Float64bits(staleMarker) {
				ended++
			}
		}
		return ended
	}
	for _, step := range []struct {
		phase string
		fails bool
		ended int // series
	}{{"starting", false, 0}, {"connecting", true, 1}, {"measuring", true, 2}, {"draining", false, 3}, {"draining", false, 0}} {
		if got := push(step.phase, step.fails); got != step.ended {
			t.Errorf("in the phase %s, the push ends %d series, not %d", step.phase, got, step.ended)
		}
	}
}

// silent is a server that never replies.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// The pusher ends even if the server never replies. The test runs in simulated time.
func TestPushWithoutReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := ParseDestination("http://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		p, err := newPusher(d, prometheus.NewRegistry(), "run", "host", func(string) string { return "" }, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		p.client.Transport = silent{}
		p.start()
		time.Sleep(pushInterval + time.Second) // the first push is under way
		began := time.Now()
		if problem := p.Close(); !strings.Contains(problem, "1 of 1 push ") || !strings.Contains(problem, "no reply within 4s") || time.Since(began) != pushTimeout {
			t.Errorf("after %v, the problem is %q", time.Since(began), problem)
		}
	})
}

func TestPushNeedsItsPassword(t *testing.T) {
	d, err := ParseDestination("http://me:env:PW@h/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := StartPushing(d, prometheus.NewRegistry(), "", "", func(string) string { return "" }, time.Now); err == nil || !strings.Contains(err.Error(), `the environment variable "PW" is not set`) {
		t.Errorf("the error is %v", err)
	}
}

// The server negotiates protobuf, which supports native histograms. Close returns even if a scrape
// is under way.
func TestServer(t *testing.T) {
	c := newTestCollector()
	c.Second(spec("put", 1), second(measure.Measured, 1000, 2))
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	begun, hold := make(chan struct{}), make(chan struct{})
	blocking := false
	gatherer := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		if blocking {
			close(begun)
			<-hold
		}
		return r.Gather()
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, gatherer)
	for accept, kind := range map[string]string{
		"":                             "text/plain",
		"application/openmetrics-text": "application/openmetrics-text",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited": "application/vnd.google.protobuf",
	} {
		q, err := http.NewRequest(http.MethodGet, s.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Accept", accept)
		reply, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(reply.Body)
		_ = reply.Body.Close()
		if got := reply.Header.Get("Content-Type"); err != nil || reply.StatusCode != http.StatusOK || !strings.HasPrefix(got, kind) || !strings.Contains(string(body), "quorumbench_operations") {
			t.Errorf("for the Accept header %q, the server replied with status %d and type %s: %v", accept, reply.StatusCode, got, err)
		}
	}
	blocking = true
	scraped := make(chan error, 1)
	go func() {
		reply, err := http.Get(s.URL())
		if err == nil {
			_ = reply.Body.Close()
		}
		scraped <- err
	}()
	<-begun
	s.Close() // returns although the scrape has not ended
	if <-scraped == nil {
		t.Error("the scrape succeeded")
	}
	close(hold)
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the server still accepts connections")
	}
}
