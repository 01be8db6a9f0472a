package record

import (
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// hdrHistogramJar is the path, in the user's cache folder, at which `make hdrhistogram` installs
// HdrHistogram.
const hdrHistogramJar = "quorumbench/tools/HdrHistogram-2.2.2.jar"

// processLog runs HdrHistogram's HistogramLogProcessor in Java on a log.
func processLog(t *testing.T, log string, args ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	must(t, err)
	jar := filepath.Join(cache, hdrHistogramJar)
	if _, err := os.Stat(jar); err != nil {
		t.Skip("HdrHistogram's Java tools are missing: run make hdrhistogram to download them")
	}
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("HdrHistogram's Java tools need Java")
	}
	args = append([]string{"-cp", jar, "org.HdrHistogram.HistogramLogProcessor", "-i", log}, args...)
	c := exec.Command("java", args...)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	for line := range strings.Lines(stderr.String()) {
		if !strings.HasPrefix(line, "Picked up ") { // the JVM reports options from the environment
			t.Errorf("the Java tool: %s", line)
		}
	}
	if err != nil {
		t.Fatalf("the Java tool: %v", err)
	}
	return string(out)
}

// HdrHistogram's Java tools can read an unmodified latency.hlog. They find the tags, and report the
// same percentiles, counts and maxima for each tag.
func TestJavaReadsTheHistogramLog(t *testing.T) {
	settle.SkipUnderRace(t)
	l := newLoad(7, 0, true)
	l.phase(measure.Warmup, 1, 200)
	l.phase(measure.Measured, 20, 3000)
	w := newRun(t)
	tw, err := w.Trial(conditions(), noon)
	must(t, err)
	l.write(t, tw)
	must(t, tw.Finish(NewTrial(conditions(), Observed{Started: noon, Opened: noon.Add(time.Second)}, l.totals[measure.Measured], nil, roles)))
	must(t, w.Finish(Complete, "", noon.Add(time.Minute)))
	run, err := Open(w.Dir())
	must(t, err)
	files, err := OpenTrial(w.Dir(), run.Trials[0].Folder)
	must(t, err)
	log := filepath.Join(w.Dir(), run.Trials[0].Folder, hlogFile)

	tags, gets := 0, 0
	for line := range strings.Lines(processLog(t, log, "-listtags")) {
		tag, err := ParseTag(strings.TrimSpace(line))
		if err != nil || tag.Phase != measure.Measured {
			continue // a heading, or a tag of the warm-up
		}
		if tag.Kind != kv.Put { // compare only puts, because starting Java takes a long time
			gets++
			continue
		}
		tags++
		ours := Merge(files.Intervals, func(of Tag) bool { return of == tag })
		checkJava(t, tag.String(), processLog(t, log, "-tag", tag.String(), "-csv", "-outputValueUnitRatio", "1"), ours)
	}
	// The test runs Java for three tags: the response time of puts, the service time of puts, and
	// the lateness. The gets have four tags: response time and service time, in each of two terms.
	if tags != 3 || gets != 4 {
		t.Errorf("the Java tool lists %d and %d tags of the window, not 3 and 4", tags, gets)
	}
}

// checkJava compares the lines that the tool printed with a histogram. Each line has a value, the
// share and the number of recorded values up to this value, and 1/(1 - share).
func checkJava(t *testing.T, tag, printed string, ours *measure.Histogram) {
	t.Helper()
	_, table, _ := strings.Cut(printed, `"Value"`)
	r := csv.NewReader(strings.NewReader(table))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	must(t, err)
	if len(rows) < 50 {
		t.Fatalf("%s: %d rows:\n%s", tag, len(rows), printed)
	}
	number := func(text string) float64 {
		x, err := strconv.ParseFloat(text, 64)
		must(t, err)
		return x
	}
	compared := 0
	for _, row := range rows[1:] {
		value, percentile, count := number(row[0]), 100*number(row[1]), number(row[2])
		var below int64
		for _, bar := range ours.Distribution() {
			if float64(bar.To) <= value {
				below += bar.Count
			}
		}
		if float64(below) != count {
			t.Errorf("%s: Java counts %v values up to %v, and our histogram has %d", tag, count, value, below)
		}
		if percentile == 0 || percentile != math.Round(1000*percentile)/1000 {
			continue // another line
		}
		if f := measure.Percentile(ours, 0, percentile); f.Known {
			compared++
			if f.NS != value {
				t.Errorf("%s: p%v is %v in Java and %v in our histogram", tag, percentile, value, f.NS)
			}
		}
	}
	if last := rows[len(rows)-1]; number(last[1]) != 1 || number(last[2]) != float64(ours.TotalCount()) || compared < 20 {
		t.Errorf("%s: %d percentiles were compared, and the last row is %v, of %d operations", tag, compared, last, ours.TotalCount())
	}
}
