package analyze

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// If there are no other causes, a closed loop is limited by its clients, and an open loop is not
// limited.
func TestBounds(t *testing.T) {
	settle.SkipUnderRace(t)
	m := shape{seed: 8, seconds: 5, perSecond: 100, idle: -1}.record(t)
	l := FindLimits(&m.run.Trials[0])
	b, _ := l.Bounds()
	if len(b) != 1 || b[0].Kind != CauseClients || !strings.HasPrefix(b[0].Text, "10 clients with a mean time of ") {
		t.Errorf("a closed loop: %+v", b)
	}
	m = shape{seed: 8, seconds: 5, perSecond: 100, idle: -1, open: true}.record(t)
	rate := 1.0
	m.run.Trials[0].Rate = &rate
	l = FindLimits(&m.run.Trials[0])
	if b, _ := l.Bounds(); len(b) != 0 && !IsSlow(&m.run.Trials[0]) {
		t.Errorf("an open loop: %+v", b)
	}
}
