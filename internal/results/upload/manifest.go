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
	Schema  string         `json:"schema"`
	Run     string         `json:"run"`     // name of the run directory, escaped like object names
	Started time.Time      `json:"started"` // as in run.json
	Files   []entry        `json:"files"`   // ordered by name
	LeftOut []OmittedEntry `json:"left_out"`
}

// entry describes an object of the run.
type entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func newManifest(run string, started time.Time, objectSums map[string]contentSums, leftOut []OmittedEntry) ([]byte, error) {
	m := manifest{Schema: ManifestSchema, Run: run, Started: started, LeftOut: append([]OmittedEntry{}, leftOut...)}
	for _, name := range slices.Sorted(maps.Keys(objectSums)) {
		m.Files = append(m.Files, entry{Name: name, Size: objectSums[name].size, SHA256: objectSums[name].sha})
	}
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}
