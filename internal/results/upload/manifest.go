package upload

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// ManifestSchema is the schema of the manifest.
const ManifestSchema = "quorumbench/upload/1"

// manifest lists the uploaded files. Uploading the same run again creates the same manifest.
type manifest struct {
	Schema  string    `json:"schema"`
	Run     string    `json:"run"`     // name of the run directory, escaped like object names
	Started time.Time `json:"started"` // as in run.json
	Files   []entry   `json:"files"`   // ordered by name
	LeftOut []LeftOut `json:"left_out"`
}

// entry describes an object of the run.
type entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func newManifest(run string, started time.Time, have map[string]sums, leftOut []LeftOut) ([]byte, error) {
	m := manifest{Schema: ManifestSchema, Run: run, Started: started, LeftOut: append([]LeftOut{}, leftOut...)}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		m.Files = append(m.Files, entry{Name: name, Size: have[name].size, SHA256: have[name].sha})
	}
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}
