package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Limits for the size of a run.json. The limit increases with the number of trials in the file.
// Reading a file therefore takes no more memory than reading a real run with the same number of
// trials.
const (
	maxRun        = 64 << 20 // for everything except trials
	bytesPerTrial = 24 << 10 // for each trial; a typical trial has about 14 KiB
	maxTrials     = 20_000

	// MaxRunFile is the size of the largest run.json that can be read, in bytes.
	MaxRunFile = maxRun + maxTrials*bytesPerTrial
)

// allowance is a reader that fails when it has returned as many bytes as were set in `remaining`.
type allowance struct {
	source    io.Reader
	remaining int64
}

// newAllowance returns an allowance for a run with the given number of trials.
func newAllowance(source io.Reader, trials int64) *allowance {
	return &allowance{source, maxRun + trials*bytesPerTrial}
}

var errTooLarge = fmt.Errorf("it is larger than the limit of %d MiB plus %d KiB per trial", maxRun>>20, bytesPerTrial>>10)

func (a *allowance) Read(p []byte) (int, error) {
	if a.remaining <= 0 {
		return 0, errTooLarge
	}
	n, err := a.source.Read(p[:min(int64(len(p)), a.remaining)])
	a.remaining -= int64(n)
	return n, err
}

// Parse parses a run.json, which may come from an untrusted source. Every text in the result is
// printable and has a limited length.
func Parse(b []byte) (*Run, error) {
	run, err := parse(bytes.NewReader(b))
	if err == nil {
		run.makePrintable()
	}
	return run, err
}

// parse reads the trials one after the other, so that only one trial is in memory as text. It does
// not change texts.
func parse(source io.Reader) (*Run, error) {
	return decode(newAllowance(source, 0))
}

// notRunError returns an error which states that the file is not the JSON of a run. err is a syntax
// error or a read error.
func notRunError(err error) error {
	switch {
	case errors.Is(err, errTooLarge):
		return err
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("it is not the JSON of a run: %w", err)
}

func decode(a *allowance) (*Run, error) {
	d := json.NewDecoder(a)
	switch first, err := d.Token(); {
	case err != nil:
		return nil, notRunError(err)
	case first != json.Delim('{'):
		return nil, notRunError(errors.New("it is not a JSON object"))
	}
	fields := map[string]json.RawMessage{}
	var trials []Trial
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, notRunError(err)
		}
		name, _ := key.(string)
		if strings.EqualFold(name, "trials") { // Unmarshal ignores case, too
			if trials, err = decodeTrials(d, a); err != nil {
				return nil, err
			}
			continue
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, notRunError(err)
		}
		fields[name] = value
		if name == "schema" {
			if err := checkRunSchema(value); err != nil {
				return nil, err
			}
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, notRunError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, notRunError(errors.New("there is text after the object"))
	}
	if err := checkRunSchema(fields["schema"]); err != nil {
		return nil, err
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return nil, notRunError(err)
	}
	run := &Run{}
	if err := json.Unmarshal(b, run); err != nil {
		return nil, notRunError(err)
	}
	run.Trials = trials
	return run, nil
}

// checkRunSchema checks the schema of a run. value is nil if the run has no schema.
func checkRunSchema(value json.RawMessage) error {
	schema := ""
	if value != nil {
		if err := json.Unmarshal(value, &schema); err != nil {
			return notRunError(err)
		}
	}
	err := checkSchema(schema, RunSchema)
	if err != nil && strings.HasPrefix(schema, runSchemaPrefix) {
		return fmt.Errorf("%w; read the run with the version of quorumbench that wrote it, or repeat it", err)
	}
	return err
}

// decodeTrials reads the list of trials. It increases the allowance for each trial.
func decodeTrials(d *json.Decoder, a *allowance) (trials []Trial, err error) {
	switch first, err := d.Token(); {
	case err != nil:
		return nil, notRunError(err)
	case first == nil: // null
		return nil, nil
	case first != json.Delim('['):
		return nil, notRunError(fmt.Errorf("the list of trials begins with %v instead of [", first))
	}
	for d.More() {
		if len(trials) == maxTrials {
			return nil, notRunError(fmt.Errorf("it has more than %s, the limit for a run", text.Plural(maxTrials, "trial")))
		}
		var t Trial
		if err := d.Decode(&t); err != nil {
			return nil, notRunError(err)
		}
		if err := checkSchema(t.Schema, TrialSchema); err != nil {
			return nil, fmt.Errorf("trial %d: %w", len(trials)+1, err)
		}
		trials = append(trials, t)
		a.remaining += bytesPerTrial
	}
	if _, err := d.Token(); err != nil {
		return nil, notRunError(err)
	}
	return trials, nil
}
