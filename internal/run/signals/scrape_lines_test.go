package signals

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
)

func readMetricLines(text string) (string, error) {
	names := namesIn([]store.MetricName{{Name: "etcd_disk"}, {Sum: "a_sum", Count: "a_count"}})
	b, err := io.ReadAll(&metricLines{reader: bufio.NewReaderSize(strings.NewReader(text), maxLineBytes), names: names, remainingBytes: maxMetricBytes})
	return string(b), err
}

// Only the wanted lines of a text are parsed, no matter how many other metrics the text contains.
func TestReadsOnlyLinesOfNamedMetrics(t *testing.T) {
	text := "# HELP etcd_disk what it is\n# TYPE etcd_disk histogram\netcd_disk_bucket{le=\"1\"} 3\nother 1\n\na_sum 2\na_count 1"
	want := "# TYPE etcd_disk histogram\netcd_disk_bucket{le=\"1\"} 3\na_sum 2\na_count 1"
	if got, err := readMetricLines(text); got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := readMetricLines(strings.Repeat("x 1\n", 1<<20)); got != "" || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for what, text := range map[string]string{
		"many series": strings.Repeat("etcd_disk{a=\"b\"} 1\n", maxMetricBytes/10), "an endless line": strings.Repeat("etcd_disk", maxLineBytes),
	} {
		if got, err := readMetricLines(text); err == nil || len(got) > maxMetricBytes {
			t.Errorf("%s: %d bytes", what, len(got))
		}
	}
}
