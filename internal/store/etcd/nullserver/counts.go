package nullserver

import "github.com/quorumbench/quorumbench/internal/store/null"

// Counts says how many operations a server was asked for.
type Counts = null.Counts
