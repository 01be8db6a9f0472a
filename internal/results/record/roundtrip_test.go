package record

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func measured(time Time) func(Tag) bool {
	return func(t Tag) bool { return t.Phase == measure.Measured && t.Time == time }
}

// The figures in run.json equal the figures that can be computed from latency.hlog.
func TestRecordedNumbersEqualTheMergedIntervals(t *testing.T) {
	for seed, failures := range []float64{0, 0.02, 0.5, 1}[:settle.RandomCases(4, 2)] {
		open := seed%2 == 1
		name := fmt.Sprintf("failures %v, open %v", failures, open)
		t.Run(name, func(t *testing.T) { checkRoundTrip(t, newLoad(uint64(seed), failures, open)) })
	}
}

func checkRoundTrip(t *testing.T, l *load) {
	l.phase(measure.Warmup, 1, 200)
	l.phase(measure.Measured, 2, 3000)
	c := conditions()
	if !l.open {
		c.Arrival, c.Rate = scenario.Closed, nil
	}
	w := newRun(t)
	tw, err := w.Trial(c, noon)
	must(t, err)
	l.write(t, tw)
	result := NewTrial(c, Observed{Started: noon, Opened: noon.Add(time.Second), CPUSeconds: 1.5}, l.totals[measure.Measured], l.totals[measure.Warmup], roles)
	must(t, tw.Finish(result))
	must(t, w.Finish(Complete, "", noon.Add(time.Minute)))

	run, err := Open(w.Dir())
	must(t, err)
	if len(run.Problems) > 0 {
		t.Errorf("problems: %v", run.Problems)
	}
	got := run.Trials[0]
	files, err := OpenTrial(w.Dir(), got.Folder)
	must(t, err)

	checkCounts(t, &got)
	response := Merge(files.Intervals, measured(Response))
	if want := Merge(nil, nil); !response.Equals(mergeCells(l.totals[measure.Measured].Cells, want)) {
		t.Error("the merged intervals differ from the totals of the load")
	}
	same := func(what string, got Times, h *measure.Histogram, failed uint64) {
		t.Helper()
		if diff := cmp.Diff(rounded(measure.Summarize(h, failed)), got.Summary); diff != "" {
			t.Errorf("%s (-from the log +in run.json):\n%s", what, diff)
		}
	}
	same("response time", got.ResponseTime, response, got.Errors)
	same("service time", got.ServiceTime, Merge(files.Intervals, measured(Service)), got.Errors)
	if got.SuccessResponseTime.Count != got.Operations {
		t.Errorf("%d times of successful operations were recorded for %d operations", got.SuccessResponseTime.Count, got.Operations)
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		h := Merge(files.Intervals, func(t Tag) bool { return measured(ErrorTime)(t) && t.Error == o })
		if n := got.ErrorsByKind[o.String()]; uint64(h.TotalCount()) != n {
			t.Errorf("%s: the log has %d times, run.json has %d", o, h.TotalCount(), n)
		}
	}
	if l.open {
		same("lateness", *got.Lateness, Merge(files.Intervals, measured(Lateness)), 0)
	} else if got.Lateness != nil {
		t.Error("a closed loop has no lateness")
	}
	checkTimeline(t, files.Timeline, l.seconds)
}

func mergeCells(cells []*measure.Cell, into *measure.Histogram) *measure.Histogram {
	for _, c := range cells {
		into = measure.Add(into, c.Response)
	}
	return into
}

func checkCounts(t *testing.T, r *Trial) {
	t.Helper()
	if r.Due != r.Operations+r.Errors {
		t.Errorf("%d operations were due, but %d completed and %d failed", r.Due, r.Operations, r.Errors)
	}
	kinds := uint64(0)
	for _, n := range r.ErrorsByKind {
		kinds += n
	}
	if kinds != r.Errors {
		t.Errorf("errors by kind add up to %d, not %d", kinds, r.Errors)
	}
	for what, list := range map[string][]Served{"by_role": r.ByRole, "by_operation": r.ByOperation} {
		operations, errors := uint64(0), uint64(0)
		for _, s := range list {
			operations += s.Operations
			errors += s.Errors
			if s.ResponseTime.Count != s.Operations+s.Errors {
				t.Errorf("%s: %d times for %d operations and %d errors", what, s.ResponseTime.Count, s.Operations, s.Errors)
			}
		}
		if operations != r.Operations || errors != r.Errors {
			t.Errorf("%s adds up to %d + %d, not %d + %d", what, operations, errors, r.Operations, r.Errors)
		}
	}
	for _, reason := range r.Verdict.Reasons {
		if reason.Rule == 2 {
			t.Errorf("the counts of operations do not add up: %s", reason)
		}
	}
}

func checkTimeline(t *testing.T, rows []Row, seconds []*measure.Second) {
	t.Helper()
	if len(rows) != len(seconds) {
		t.Fatalf("%d rows for %d seconds", len(rows), len(seconds))
	}
	for i, r := range rows {
		s := seconds[i]
		if want := noon.Add(time.Duration(i) * time.Second); !r.Time.Equal(want) {
			t.Errorf("row %d is at %s, want %s", i, r.Time, want)
		}
		if r.Phase != s.Phase.String() || r.Second != s.Index || r.Due != s.Due || r.Done != s.Done ||
			r.OK != s.Outcomes[kv.OK] || r.Misses != s.Outcomes[kv.Miss] || r.Errors != s.Due-r.OK-r.Misses-r.Conflicts ||
			r.InFlight != s.InFlight || r.Connections != s.Connections || r.BytesOut != s.BytesOut {
			t.Errorf("row %d is %+v, want %+v", i, r, s)
		}
		var h *measure.Histogram
		for _, c := range s.Cells {
			h = measure.Add(h, c.Response)
		}
		sum := measure.Summarize(h, r.Errors)
		want := []measure.Figure{known(sum.Percentile(50)), known(sum.Percentile(99)), known(sum.Percentile(99.9)), known(sum.Max)}
		if diff := cmp.Diff(want, []measure.Figure{r.P50, r.P99, r.P999, r.Max}); diff != "" {
			t.Errorf("row %d: %s", i, diff)
		}
	}
}

// known removes the mark of a failed figure from f, because the timeline does not contain this
// mark.
func known(f measure.Figure) measure.Figure { f.Failed = false; return f }

// rounded returns a summary in whole nanoseconds, which is the precision of the files.
func rounded(s measure.Summary) measure.Summary {
	t := Times{s}
	whole := func(f *measure.Figure) {
		if p := ns(*f); p != nil {
			f.NS = *p
		}
	}
	for _, f := range []*measure.Figure{&t.Min, &t.Mean, &t.Stddev, &t.Max} {
		whole(f)
	}
	for i := range t.Percentiles {
		whole(&t.Percentiles[i])
	}
	return t.Summary
}

// The HdrHistogram library can read the log: it finds every interval with its tag and times.
func TestLibraryReadsTheLog(t *testing.T) {
	l := newLoad(3, 0.1, true)
	l.phase(measure.Warmup, 2, 100)
	l.phase(measure.Measured, 2, 100)
	w := newRun(t)
	tw, err := w.Trial(conditions(), noon)
	must(t, err)
	tw.End(measure.Measured, noon.Add(3250*time.Millisecond))
	l.write(t, tw)

	f, err := os.Open(filepath.Join(tw.Dir(), hlogFile))
	must(t, err)
	defer func() { _ = f.Close() }()
	ours, err := OpenTrial(w.Dir(), "trial-01-put-leader")
	must(t, err)
	r := hdr.NewHistogramLogReader(f)
	for i, want := range ours.Intervals {
		h, err := r.NextIntervalHistogram()
		must(t, err)
		if h == nil {
			t.Fatalf("HdrHistogram's reader returns no interval after the first %d", i)
		}
		if h.Tag() != want.String() || strings.ContainsAny(h.Tag(), " ,/") || !h.Equals(want.AddTo(nil)) {
			t.Errorf("interval %d is %s, want %s", i, h.Tag(), want)
		}
		// The library truncates times to milliseconds, so the start time that it computes can be
		// too early by 1 ms.
		if off := want.Start.UnixMilli() - h.StartTimeMs(); off < 0 || off > 1 {
			t.Errorf("%s starts at %d, want %s", h.Tag(), h.StartTimeMs(), want.Start)
		}
	}
	if h, err := r.NextIntervalHistogram(); h != nil || err != nil {
		t.Errorf("HdrHistogram's reader returns more intervals than were written: %v, %v", h, err)
	}
	last := ours.Intervals[len(ours.Intervals)-1]
	if start := noon.Truncate(time.Millisecond).Add(3 * time.Second); !last.Start.Equal(start) || last.Length != 250*time.Millisecond {
		t.Errorf("the last interval starts at %s and lasts %s, want %s and 250 ms", last.Start, last.Length, start)
	}
	if first := ours.Intervals[0]; !first.Start.Equal(noon.Truncate(time.Millisecond)) || first.Length != time.Second {
		t.Errorf("the first interval starts at %s and lasts %s", first.Start, first.Length)
	}
}

func TestTags(t *testing.T) {
	put := measure.Series{Kind: kv.Put, Member: leaderID, Term: 2}
	tests := map[string]Tag{
		"measured.response.put.none.8e9e05c52164694d.2":       {Phase: measure.Measured, Time: Response, Series: put},
		"warmup.service.get.linearizable.fd422379fda50e48.77": {Time: Service, Series: measure.Series{Kind: kv.Get, Consistency: kv.Linearizable, Member: followerID, Term: 77}},
		"measured.error-store_timeout.cas.none.0.0":           {Phase: measure.Measured, Time: ErrorTime, Series: measure.Series{Kind: kv.CAS}, Error: kv.StoreTimeout},
		"warmup.lateness": {Time: Lateness},
	}
	for want, tag := range tests {
		if got := tag.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if back, err := ParseTag(want); err != nil || back != tag {
			t.Errorf("%s is read as %+v, %v", want, back, err)
		}
	}
	for _, bad := range []string{
		"", "measured", "later.lateness", "measured.latency", "measured.response.put.none.0", "measured.error-ok.put.none.0.0",
		"measured.response.push.none.0.0", "measured.response.put.some.0.0", "measured.response.put.none.x.0", "measured.response.put.none.0.-1",
		"measured.first.put.none.0.0",
	} {
		if _, err := ParseTag(bad); err == nil {
			t.Errorf("ParseTag accepts %q", bad)
		}
	}
}

// For any counts, the encoder and the library produce the same bytes before compression.
func TestEncodingEqualsTheLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var e encoder
	for _, n := range []int{0, 1, 2, 10, 1000, 20_000} {
		h := measure.NewHistogram()
		for range n {
			must(t, h.RecordValues(rng.Int64N(1<<(1+rng.IntN(41))), 1+rng.Int64N(1<<rng.IntN(50))))
		}
		ours, err := e.appendTo(nil, h)
		must(t, err)
		theirs, err := h.EncodeV2()
		must(t, err)
		if n > 0 && !bytes.Equal(unpack(t, ours), unpack(t, theirs)) {
			t.Errorf("a histogram of %d values is encoded differently by HdrHistogram", n)
		}
		back, err := hdr.Decode(ours)
		must(t, err)
		if !back.Equals(h) {
			t.Errorf("%d values come back differently", n)
		}
	}
}

// unpack decodes a histogram from base64, removes the header, and decompresses the rest.
func unpack(t *testing.T, b []byte) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(string(b))
	must(t, err)
	z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
	must(t, err)
	plain, err := io.ReadAll(z)
	must(t, err)
	return append(raw[:4:4], plain...)
}

func TestHistogramsBelowTheUnitAndAtTheEnds(t *testing.T) {
	s := &measure.Second{Phase: measure.Measured}
	c := cellOf(&s.Cells, measure.Series{Kind: kv.Put})
	for _, v := range []int64{-5, 0, 1, 63, 64, 65, 127, 128, 1 << 30, measure.Highest - 1, measure.Highest, measure.Highest * 2} {
		add(&c.Response, v)
	}
	s.Due, s.Outcomes[kv.OK] = 12, 12
	w := newRun(t)
	tw, err := w.Trial(conditions(), noon)
	must(t, err)
	must(t, tw.Begin(measure.Measured, noon))
	must(t, tw.Second(s))
	files, err := OpenTrial(w.Dir(), "trial-01-put-leader")
	must(t, err)
	back := files.Intervals[0].AddTo(nil)
	if !back.Equals(c.Response) || !Merge(files.Intervals, measured(Response)).Equals(c.Response) {
		t.Error("the histogram changed between writing and reading")
	}
	if back.TotalCount() != 12 {
		t.Errorf("the histogram has %d values after reading, want 12", back.TotalCount())
	}
	if diff := cmp.Diff(measure.Summarize(c.Response, 0), measure.Summarize(back, 0)); diff != "" {
		t.Error(diff)
	}
}
