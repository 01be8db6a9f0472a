package command

import (
	"os"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Calibrated returns the calibration that `check machine` kept for this machine and program; nil if
// there is none. A calibration that cannot be read only causes a warning.
func (a *App) Calibrated() *record.Calibration {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil // without a cache folder no calibration was kept
	}
	machine := probe.Machine()
	c, err := record.ReadCalibration(record.CalibrationFile(cache, &machine))
	if err != nil {
		a.Warn(err.Error())
		return nil
	}
	return c.On(&machine, Tool())
}
