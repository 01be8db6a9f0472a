package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// The file that perfdash reads, as etcd's benchmark writes it: percentiles in
// milliseconds. One that is not known is null, where etcd's writes 0.
type (
	perfdash struct {
		Version   string         `json:"version"`
		DataItems []perfdashItem `json:"dataItems"`
	}
	perfdashItem struct {
		Data   perfdashData      `json:"data"`
		Labels map[string]string `json:"labels"`
		Unit   string            `json:"unit"`
	}
	perfdashData struct {
		Perc50 *float64 `json:"Perc50"`
		Perc90 *float64 `json:"Perc90"`
		Perc99 *float64 `json:"Perc99"`
	}
)

// WritePerfdash writes a trial's percentiles into a new file in the folder,
// which it makes, and returns the file's path. operation is the command's name.
func (c Classic) WritePerfdash(dir, operation string, t *record.Trial, files *record.Files, now time.Time) (string, error) {
	report := perfdash{Version: "v1"}
	parts := c.parts(t, files)
	for i := range parts {
		p := &parts[i]
		name := operation
		if p.Name != "" && (len(parts) > 1 || p.Heading != "") {
			name += "-" + p.Name
		}
		report.DataItems = append(report.DataItems, perfdashItem{
			Data:   perfdashData{p.Milliseconds(50), p.Milliseconds(90), p.Milliseconds(99)},
			Labels: map[string]string{"Operation": strings.ToUpper(name)}, Unit: "ms",
		})
	}
	b, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return "", fmt.Errorf("the perfdash report cannot be written as JSON: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("the folder for the perfdash report cannot be made: %w", err)
	}
	name := fmt.Sprintf("EtcdAPI_benchmark_%s_%s.json", operation, now.UTC().Format(time.RFC3339))
	if err := putFile(dir, name, append(b, '\n')); err != nil {
		return "", fmt.Errorf("the perfdash report cannot be written: %w", err)
	}
	return filepath.Join(dir, name), nil
}

// putFile puts a file into a folder under a name that others can foretell: if a
// link has it, that is replaced, and what it leads to is left alone.
func putFile(dir, name string, contents []byte) (err error) {
	f, err := os.CreateTemp(dir, name+".")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(contents)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}
