package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// maxCalibration is the size limit of a calibration file in bytes. Real files are far smaller.
const maxCalibration = 1 << 20

// CalibrationFile returns the path of a machine's calibration file in the user's cache folder.
// Several machines can share this folder, because each machine has its own file.
func CalibrationFile(cache string, m *measure.Machine) string {
	sum := sha256.Sum256([]byte(m.Name)) // the hash distinguishes names that have the same slug
	return filepath.Join(cache, "quorumbench", "calibration", Slug(m.Name)+"-"+hex.EncodeToString(sum[:4])+".json")
}

// Write writes the calibration and creates the folders above the file.
func (c *Calibration) Write(path string) error {
	b, err := encode(c)
	if err != nil {
		return fmt.Errorf("cannot encode the calibration: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return writeError(path, err)
	}
	return opener(openFile).replace(path, b)
}

// ReadCalibration reads a file that Write wrote. It returns nil if the file does not exist. The
// text of its error is one sentence.
func ReadCalibration(path string) (*Calibration, error) {
	b, err := files.Read(path, maxCalibration)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
	default:
		var c *Calibration
		if c, err = ParseCalibration(b); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("cannot read the calibration in %s: %w; \"quorumbench check machine\" writes a new one", path, err)
}

// ParseCalibration parses the JSON of a calibration, which may come from an untrusted source. All
// texts in the result are printable, and all numbers are possible.
func ParseCalibration(b []byte) (*Calibration, error) {
	c := &Calibration{}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(c); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("it is not the JSON of a calibration: %s", text.Line(err.Error(), text.MaxField))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is not the JSON of a calibration: there is text after the object")
	}
	if err := checkSchema(c.Schema, CalibrationSchema); err != nil {
		return nil, err
	}
	c.Schema = CalibrationSchema
	text.SanitizeFields(c)
	if !c.isConsistent() {
		return nil, errors.New("it contains numbers that no calibration can have")
	}
	return c, nil
}

// maxRoundTrips limits the number of endpoints in a calibration.
const maxRoundTrips = 10_000

// isConsistent reports whether all numbers are possible.
func (c *Calibration) isConsistent() bool {
	for _, s := range c.allSummaries() {
		if !s.isConsistent() {
			return false
		}
	}
	for i := range c.RoundTrips {
		if r := &c.RoundTrips[i]; !(r.LowestNS >= 0) || r.Count < 0 {
			return false
		}
	}
	if d := c.Disk; d != nil && (d.FdatasyncP50NS < 0 || d.FdatasyncP99NS != nil && *d.FdatasyncP99NS < 0 || d.Fdatasyncs < 0) {
		return false
	}
	return c.Rounds >= 1 && c.WakeDelays.Count >= 0 && len(c.RoundTrips) <= maxRoundTrips && c.Generator.OpenRate >= 0 && !math.IsInf(c.Generator.OpenRate, 1)
}

// CurrentFor returns the calibration for the record of a run. The parameter `tool` is the program
// that executes the run, and m is the machine. If neither the machine nor the program has changed
// since the calibration, it returns c itself. Otherwise, it returns a copy without figures, in
// which Outdated describes the change. It returns nil if c is nil.
func (c *Calibration) CurrentFor(m *measure.Machine, tool Tool) *Calibration {
	if c == nil {
		return nil
	}
	reason := ""
	switch d := m.Difference(&c.Machine); {
	case d != "":
		reason = "the machine has " + d
	case tool != c.Tool:
		reason = fmt.Sprintf("this program is %s, and the calibration was measured by %s", tool.Description(), c.Tool.Description())
	default:
		return c
	}
	return &Calibration{Schema: CalibrationSchema, Measured: c.Measured, Tool: c.Tool, Machine: *m, Outdated: reason, RoundTrips: []RoundTrip{}}
}
