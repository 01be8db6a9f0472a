package report

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// A failed clean-up is either a failed removal of keys or a failed attempt to free disk space.
func TestCleanupPartsNameTheFailedStep(t *testing.T) {
	for _, c := range []struct {
		cleanup *record.Cleanup
		want    string
	}{
		{nil, ""},
		{&record.Cleanup{Deleted: 9}, ""},
		{&record.Cleanup{Failure: "no leader"}, "FAIL: Cleanup failed during key deletion: ERROR(no leader)\n"},
		{&record.Cleanup{Deleted: 9, NotReclaimed: "no leader"}, "FAIL: The keys were removed, but the disk space was not freed: ERROR(no leader)\n"},
		{&record.Cleanup{Deleted: 9, Revision: 7, NotReclaimed: "no leader"}, "Compacting with revision 7\nCompacted with revision 7\n" +
			"FAIL: The keys were removed, but the disk space was not freed: ERROR(no leader)\n"},
	} {
		if got := textOf(func(out layout) { cleanupParts(out, c.cleanup) }); got != c.want {
			t.Errorf("for %+v, the text is %q, want %q", c.cleanup, got, c.want)
		}
	}
}
