package disks

import (
	"embed"
	"encoding/json"
	"math/rand/v2"
	"path"
	"time"
)

// Recording contains the durations of the syncs of a real measurement, 50 per second.
type Recording struct {
	Disk   string  `json:"disk"`
	SyncUS []int64 `json:"sync_us"` // in microseconds
}

//go:embed testdata/*.json
var files embed.FS

// Recorded returns the recordings of real disks. A disk repeats its recording, beginning at a
// random sync. It counts as bad if at least 2 % of the recorded syncs take 10 ms or more, and as
// good if at most 0.5 % do. Recordings between these shares are omitted.
func Recorded() (all []Disk, err error) {
	entries, err := files.ReadDir("testdata")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		b, err := files.ReadFile(path.Join("testdata", e.Name()))
		if err != nil {
			return nil, err
		}
		var r Recording
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, err
		}
		slow := 0
		for _, us := range r.SyncUS {
			if us >= 10_000 {
				slow++
			}
		}
		share := float64(slow) / float64(len(r.SyncUS))
		if share > 0.005 && share < 0.02 {
			continue
		}
		all = append(all, Disk{Name: "recorded: " + r.Disk, Bad: share >= 0.02, New: r.replay})
	}
	return all, nil
}

// replay returns a disk that repeats the recording.
func (r *Recording) replay(random *rand.Rand) func(time.Duration) time.Duration {
	next := random.IntN(len(r.SyncUS))
	return func(time.Duration) time.Duration {
		d := time.Duration(r.SyncUS[next]) * time.Microsecond
		next = (next + 1) % len(r.SyncUS)
		return d
	}
}
