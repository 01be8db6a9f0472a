package scenario

import _ "embed" // of the quick scenario

//go:embed quick.yaml
var quick string

// Quick returns the built-in scenario's file, which Parse reads. With the start
// of its cluster and the preload it takes some 50 seconds.
func Quick() []byte { return []byte(quick) }
