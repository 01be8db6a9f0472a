package install

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
)

// copyDependencies is the Maven goal that copies jars. The goal's full name contains a fixed
// plugin version. The short name could mean another version, depending on the version of Maven.
const copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

// buildMaven copies the jars of the runtime dependencies in pom.xml into the folder lib. Maven
// compares each jar with the checksum from its repository.
func buildMaven(ctx context.Context, w workspace, s store.ServerSource, progress func(Update)) error {
	progress(Update{Step: "fetching jars"})
	args := []string{
		"-B", "-C", "-f", "pom.xml", copyDependencies,
		"-DoutputDirectory=" + filepath.Join(w.out, "lib"), "-DincludeScope=runtime",
	}
	jars := 0
	return run(ctx, command{dir: w.in, name: "mvn", args: append(args, s.Args...), onLine: func(line string) {
		// A line looks like "[INFO] Downloaded from REPOSITORY: URL (SIZE at RATE)". Maven prints
		// no line for a jar that it already has.
		_, url, ok := strings.Cut(line, "] Downloaded from ")
		if file := jarName(url); ok && file != "" {
			jars++
			progress(Update{Step: "fetching jars", Detail: fmt.Sprintf("%d: %s", jars, file)})
		}
	}})
}

// jarName returns the name of the jar in Maven's message about a download, or an empty string
// if the message mentions no jar.
func jarName(said string) string {
	for word := range strings.FieldsSeq(said) {
		if strings.HasSuffix(word, ".jar") {
			return path.Base(word)
		}
	}
	return ""
}
