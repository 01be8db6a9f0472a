package scenario

import "github.com/quorumbench/quorumbench/internal/scenario/application"

// Valid returns the first error in a load, as one sentence with the keys of scenario files.
// Complete must have completed the load. Use Valid for loads that this package did not parse. apps
// are the applications that the load may imitate.
func (l *Load) Valid(apps []application.Application) error {
	if found := l.problems(words{}, apps); len(found) > 0 {
		return found[0]
	}
	return nil
}

// Valid returns the first error in the description of a running cluster, as one sentence. It opens
// no files and no connections.
func (a *Attach) Valid() error {
	if wrong := a.check(words{}); wrong != nil {
		return wrong
	}
	return nil
}
