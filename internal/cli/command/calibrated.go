package command

import (
	"os"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Calibrated is what this machine is known to tell apart; nil if nothing. What is wrong
// with what was kept is said, and fails nothing.
func (a *App) Calibrated() *record.Calibration {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil // nothing can have been kept
	}
	machine := probe.Machine()
	c, err := record.ReadCalibration(record.CalibrationFile(cache, &machine))
	if err != nil {
		a.Warn(err.Error())
		return nil
	}
	return c.On(&machine, Tool())
}
