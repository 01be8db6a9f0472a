package settle

import (
	"fmt"
	"strings"
	"testing"
)

// recorder is a testing.TB that records its calls.
type recorder struct {
	testing.TB
	errors, logs []string
}

func (*recorder) Helper()                      {}
func (f *recorder) Error(args ...any)          { f.errors = append(f.errors, fmt.Sprint(args...)) }
func (f *recorder) Logf(s string, args ...any) { f.logs = append(f.logs, fmt.Sprintf(s, args...)) }

func TestRetryMeasurement(t *testing.T) {
	for good, want := range map[int]int{1: 1, 3: 3, Attempts: Attempts, Attempts + 1: Attempts} {
		f, made := &recorder{}, 0
		RetryMeasurement(f, func(r Reporter) {
			if made++; made < good {
				r.Errorf("attempt %d is too slow", made)
			}
		})
		if made != want || (len(f.errors) > 0) != (good > Attempts) || len(f.logs) != min(good, Attempts)-1 {
			t.Errorf("with a good attempt %d, %d attempts were made; errors %q, logs %q", good, made, f.errors, f.logs)
		}
		if good > Attempts && !strings.Contains(f.errors[0], "attempt 5 is too slow") {
			t.Errorf("the output is %q", f.errors)
		}
	}
}
