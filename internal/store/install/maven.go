package install

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
)

// copyDependencies is the goal that copies jars, of a version of its own: which
// one its short name means depends on the Maven.
const copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

// buildMaven copies the jars that the pom's dependencies need at run time into
// lib. Maven checks each against its repository's checksum.
func buildMaven(ctx context.Context, w workspace, s store.ServerSource, progress func(Update)) error {
	progress(Update{Step: "fetching jars"})
	args := []string{
		"-B", "-C", "-f", "pom.xml", copyDependencies,
		"-DoutputDirectory=" + filepath.Join(w.out, "lib"), "-DincludeScope=runtime",
	}
	jars := 0
	return run(ctx, command{dir: w.in, name: "mvn", args: append(args, s.Args...), line: func(line string) {
		// Such as "[INFO] Downloaded from REPOSITORY: URL (SIZE at RATE)"; what
		// Maven has already it does not name.
		_, url, ok := strings.Cut(line, "] Downloaded from ")
		if file := jarName(url); ok && file != "" {
			jars++
			progress(Update{Step: "fetching jars", Detail: fmt.Sprintf("%d: %s", jars, file)})
		}
	}})
}

// jarName is the jar's file name in what Maven says of a download, or empty.
func jarName(said string) string {
	for word := range strings.FieldsSeq(said) {
		if strings.HasSuffix(word, ".jar") {
			return path.Base(word)
		}
	}
	return ""
}
