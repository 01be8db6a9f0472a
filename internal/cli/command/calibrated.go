package command

import (
	"os"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Calibrated returns the calibration that `check machine` stored for this machine and program, or
// nil if no calibration is stored. If the calibration cannot be read, Calibrated prints a warning
// and returns nil.
func (a *App) Calibrated() *record.Calibration {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil // without a cache folder there is no stored calibration
	}
	machine := probe.Machine()
	c, err := record.ReadCalibration(record.CalibrationFile(cache, &machine))
	if err != nil {
		a.Warn(err.Error())
		return nil
	}
	return c.CurrentFor(&machine, Tool())
}
