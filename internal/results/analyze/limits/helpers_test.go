package limits

import "github.com/quorumbench/quorumbench/internal/testing/runs"

var noon = runs.Noon
