package record

import (
	"math"
	"testing"
	"time"
)

func TestProcessUses(t *testing.T) {
	var u ProcessUses
	sample := func(second int, name string, pid, cpu, written float64) (ProcessUse, bool) {
		r := NewMachineRow(time.Unix(int64(second), 0), name)
		r.PID, r.User, r.System, r.WriteBytes, r.RSS = pid, 0.75*cpu, 0.25*cpu, written, 100
		return u.Add(r)
	}
	if use, ok := sample(1, "m1", 7, 10, 1000); ok {
		t.Errorf("the first sample of a process returns the use %+v", use)
	}
	if use, ok := sample(1, "machine", math.NaN(), 10, 0); ok {
		t.Errorf("the row of a machine returns %+v", use)
	}
	if _, ok := sample(1, "m2", 8, 1, 0); ok {
		t.Error("the first sample of a second process returns a use")
	}
	if use, ok := sample(3, "m1", 7, 13, 5000); !ok || use != (ProcessUse{CPU: 1.5, Writes: 2000, RSS: 100}) {
		t.Errorf("the use is %+v, %v", use, ok)
	}
	if use, ok := sample(4, "m1", 9, 1, 0); ok {
		t.Errorf("a restarted process returns %+v", use)
	}
	if use, ok := sample(5, "m1", 9, 1.5, 0); !ok || use.CPU != 0.5 || use.Writes != 0 {
		t.Errorf("after the restart, the use is %+v, %v", use, ok)
	}
}
