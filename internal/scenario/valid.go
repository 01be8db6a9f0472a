package scenario

import "github.com/quorumbench/quorumbench/internal/scenario/application"

// Validate returns the first error in a load, as one sentence with the keys of scenario files. The
// caller must have called the load's method Complete. Use Validate for loads that this package did
// not parse. apps are the applications that the load may imitate.
func (l *Load) Validate(apps []application.Application) error {
	if found := l.problems(keyNamer{}, apps); len(found) > 0 {
		return found[0]
	}
	return nil
}

// Validate returns the first error in the description of a running cluster, as one sentence. It
// opens no files and no connections.
func (a *RunningCluster) Validate() error {
	if wrong := a.check(keyNamer{}); wrong != nil {
		return wrong
	}
	return nil
}
