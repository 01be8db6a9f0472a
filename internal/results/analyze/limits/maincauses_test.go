package limits

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// If there are no other causes, a closed loop is limited by its clients, and an open loop is not
// limited.
func TestMainCauses(t *testing.T) {
	settle.SkipUnderRace(t)
	m := runs.Random{Seed: 8, Seconds: 5, PerSecond: 100, Idle: -1}.Record(t)
	l := Find(&m.Run.Trials[0])
	b, _ := l.MainCauses()
	if len(b) != 1 || b[0].Kind != CauseClients || !strings.HasPrefix(b[0].Text, "10 clients with a mean time of ") {
		t.Errorf("a closed loop: %+v", b)
	}
	m = runs.Random{Seed: 8, Seconds: 5, PerSecond: 100, Idle: -1, Open: true}.Record(t)
	rate := 1.0
	m.Run.Trials[0].Rate = &rate
	l = Find(&m.Run.Trials[0])
	if b, _ := l.MainCauses(); len(b) != 0 && !isSlow(&m.Run.Trials[0]) {
		t.Errorf("an open loop: %+v", b)
	}
}
